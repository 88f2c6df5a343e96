"""A cluster on one machine, for ``jobs/cluster``; standard library only.

All of it hangs on one process (``machine``), which is number 1 in a process namespace of its own:
when that ends, the kernel ends every process of the cluster and removes its networks and mounts.
"""
