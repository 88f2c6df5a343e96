"""Process 1 of a cluster: makes it, says so in the file ``ready``, and lives as long as it.

Started as ``python3 -m onehost.machine NAME`` in new process, network, mount, IPC and host name
namespaces.  When it ends, the kernel ends all processes of the cluster and removes what was made.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from . import network, slurm
from .enter import ssh_script
from .errors import ClusterError
from .spec import LOGIN, Spec, environment, hosts_file, load


def main() -> None:
    """Make the cluster of the name given, then reap what ends until a signal comes."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    spec = load(sys.argv[1])
    assert spec
    os.environ.update(environment(spec))
    try:
        make(spec)
    except ClusterError as error:
        sys.exit(str(error))
    (spec.files / "ready").touch()
    reap()


def make(spec: Spec) -> None:
    """Make hosts and links, and start SLURM; raises ``ClusterError``."""
    files = spec.files
    (files / "etc-hosts").write_text(hosts_file(spec))
    subprocess.run(network.shell(network.HOST, LOGIN, str(files)), check=True)
    holders = {name: network.hold(name, spec).pid for name in spec.names}
    network.connect(spec, list(holders.values()))
    write_ssh(spec, holders)
    if spec.slurm:
        slurm.prepare(spec)
        slurm.start(spec, list(holders.values()))


def write_ssh(spec: Spec, holders: dict[str, int]) -> None:
    """Write the cluster's ``ssh``, and the list of hosts that ``mpiexec`` takes."""
    folder = spec.files / "holders"
    for name, pid in holders.items():
        (folder / name).write_text(str(pid))
    (spec.files / "hosts").write_text("".join(f"{name}\n" for name in spec.names))
    script = spec.files / "bin" / "ssh"
    script.write_text(ssh_script(str(folder)))
    script.chmod(0o755)


def reap() -> None:
    """Collect ended processes for ever; nobody else does where those that started them are gone."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.pause()


if __name__ == "__main__":
    main()
