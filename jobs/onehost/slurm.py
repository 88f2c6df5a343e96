"""SLURM in the cluster: its configuration, its processes, and when it is ready."""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .enter import into
from .errors import ClusterError
from .spec import LOGIN, LOGIN_ADDRESS, Spec, address

CORES = 4
"""Cores that each host claims to have, whatever the machine has."""

PATIENCE = 30.0
"""Seconds until SLURM must be ready."""

CONFIGURATION = """\
ClusterName={name}
SlurmctldHost={login}({login_address})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={files}/munge.socket
MpiDefault=pmi2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=5
MessageTimeout=5
KillWait=2
StateSaveLocation={files}/state
SlurmdSpoolDir={files}/spool-%n
SlurmctldPidFile={files}/slurmctld.pid
SlurmdPidFile={files}/slurmd-%n.pid
"""


def configuration(spec: Spec) -> str:
    """The text of slurm.conf."""
    head = CONFIGURATION.format(
        name=spec.name, login=LOGIN, login_address=LOGIN_ADDRESS, files=spec.files
    )
    nodes = [
        f"NodeName={name} NodeAddr={address(number)} CPUs={CORES} State=UNKNOWN"
        for number, name in enumerate(spec.names)
    ]
    partition = "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
    return head + "\n".join([*nodes, partition]) + "\n"


def prepare(spec: Spec) -> None:
    """Write slurm.conf, the key of munge, and the directories."""
    (spec.files / "slurm.conf").write_text(configuration(spec))
    (spec.files / "cgroup.conf").write_text("")
    for folder in ("state", *(f"spool-{name}" for name in spec.names)):
        (spec.files / folder).mkdir()
    key = spec.files / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)


def start(spec: Spec, holders: Sequence[int]) -> None:
    """Start munge, the controller and each host's slurmd; called in the login host's namespaces.

    Raises ``ClusterError`` where the hosts are not ready in time.
    """
    files = spec.files
    munge = [f"--{kind}-file={files}/munge.{kind}" for kind in ("key", "log", "pid", "seed")]
    socket = files / "munge.socket"
    keeper = ["munged", "--foreground", "--force", f"--socket={socket}", *munge]
    running = {"munged": daemon(keeper, files / "log" / "munged")}
    wait(socket.exists, running)
    running["slurmctld"] = daemon(["slurmctld", "-D"], files / "log" / "slurmctld")
    for name, holder in zip(spec.names, holders, strict=True):
        server = [*into(holder), "slurmd", "-D", "-N", name]
        running[f"slurmd-{name}"] = daemon(server, files / "log" / f"slurmd-{name}")
    wait(lambda: states() == ["idle"] * spec.hosts, running)


def daemon(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process that goes on until the cluster ends; what it says goes to its log."""
    with log.open("wb") as out:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )


def states() -> list[str]:
    """The state of each host; empty where the controller does not answer."""
    command = ["sinfo", "--noheader", "--Node", "--format=%T"]
    return subprocess.run(command, capture_output=True, text=True).stdout.split()


def wait(ready: Callable[[], bool], running: Mapping[str, subprocess.Popen[bytes]]) -> None:
    """Wait until all is ready; raises ``ClusterError`` where a process ends or takes too long."""
    end = time.monotonic() + PATIENCE
    while not ready():
        ended = [name for name, process in running.items() if process.poll() is not None]
        if ended:
            raise ClusterError(f"{', '.join(ended)}: ended too soon")
        if time.monotonic() > end:
            raise ClusterError(f"{', '.join(running)}: not ready after {PATIENCE:.0f} s")
        time.sleep(0.1)
