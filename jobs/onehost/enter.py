"""Ways into a cluster's hosts."""

from __future__ import annotations

from collections.abc import Sequence

SSH = """\
#!/bin/sh
# Stands for ssh inside the cluster: ssh [OPTIONS] HOST COMMAND...
while :; do
    case ${{1-}} in
        -[BbcDEeFIiJLlmOopQRSWw]) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=${{1:?"ssh: no host given"}}
shift
holder=$(cat "{holders}/$host" 2>/dev/null) || {{
    echo "ssh: Could not resolve hostname $host: Name or service not known" >&2
    exit 255
}}
exec {into} sh -c "$*"
"""
"""The command ``ssh`` of the cluster, with which mpiexec starts its helpers on the hosts."""


def into(holder: int | str) -> list[str]:
    """What goes before a command to run it on a host, from inside the cluster.

    ``holder``: the process that its namespaces belong to, by its number inside.
    """
    return ["nsenter", f"--target={holder}", "--net", "--uts", "--mount", "--"]


def from_outside(machine: int, command: Sequence[str], folder: str) -> list[str]:
    """The command that runs another on the login host, in a folder; entering leaves that.

    ``machine``: the process that the cluster hangs on, by its number outside.
    """
    spaces = ["--net", "--uts", "--mount", "--pid", "--ipc"]
    return ["nsenter", f"--target={machine}", *spaces, "--", "env", "-C", folder, *command]


def ssh_script(holders: str) -> str:
    """The text of the cluster's ``ssh``; ``holders``: a directory with a file for each host."""
    return SSH.format(holders=holders, into=" ".join(into("$holder")))
