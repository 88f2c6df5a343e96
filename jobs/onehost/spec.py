"""What a cluster consists of, as data, and where its files are."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .errors import ClusterError

PLACE = Path("/run/mpicoll-cluster")
"""Each cluster has a directory of its own under this one."""

NETWORK = "10.77.0"
LOGIN = "login"
MOST_HOSTS = 64
NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")
RATE = re.compile(r"[1-9]\d*(\.\d+)?[kmg]bit")


@dataclass(frozen=True)
class Spec:
    """A cluster.

    ``hosts``: how many; ``link``: the rate of each host's link, each way, as ``tc`` writes it, and
    None for one that is not shaped; ``slow``: the rates of single hosts by number.
    Raises ``ClusterError`` where a value has no meaning.
    """

    name: str = "local"
    hosts: int = 4
    link: str | None = None
    slow: dict[int, str] = field(default_factory=dict)
    slurm: bool = True

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ClusterError(f"--name {self.name!r}: expected a word of a-z, 0-9 and -")
        if not 1 <= self.hosts <= MOST_HOSTS:
            raise ClusterError(f"--hosts {self.hosts}: expected 1 to {MOST_HOSTS}")
        for rate in filter(None, (self.link, *self.slow.values())):
            if not RATE.fullmatch(rate):
                raise ClusterError(f"rate {rate!r}: expected such as 100mbit, 2.5gbit or 500kbit")
        for number in self.slow:
            if number >= self.hosts:
                raise ClusterError(f"--slow {number}: expected a host from 0 to {self.hosts - 1}")

    @property
    def names(self) -> list[str]:
        """The host names; rank r of a job that fills the cluster runs on ``hr``."""
        return [f"h{number}" for number in range(self.hosts)]

    @property
    def files(self) -> Path:
        """The directory of this cluster; it is there exactly while the cluster is."""
        return PLACE / self.name

    def rate(self, number: int) -> str | None:
        """The rate of a host's link, if it is shaped."""
        return self.slow.get(number, self.link)

    def save(self) -> None:
        """Keep it in its directory."""
        (self.files / "spec.json").write_text(json.dumps(asdict(self)))


def load(name: str) -> Spec | None:
    """The cluster of that name; None where there is none."""
    path = Spec(name).files / "spec.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    slow = {int(number): rate for number, rate in found.pop("slow").items()}
    return Spec(**found, slow=slow)


def address(number: int) -> str:
    """The address of a host; that of the login host is the last of the network."""
    return f"{NETWORK}.{number + 1}"


LOGIN_ADDRESS = address(253)


def hosts_file(spec: Spec) -> str:
    """What stands in /etc/hosts inside the cluster."""
    lines = ["127.0.0.1 localhost", f"{LOGIN_ADDRESS} {LOGIN}"]
    lines += [f"{address(number)} {name}" for number, name in enumerate(spec.names)]
    return "\n".join(lines) + "\n"


def environment(spec: Spec) -> dict[str, str]:
    """The variables of every process in the cluster; those of MPI keep it on the links.

    Without them two ranks, which are on one machine after all, would talk through its memory.
    """
    files = spec.files
    return {
        "PATH": f"{files / 'bin'}:{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin",
        "TMPDIR": str(files / "tmp"),
        **({"SLURM_CONF": str(files / "slurm.conf")} if spec.slurm else {}),
        **waiting(spec.hosts),
        "UCX_TLS": "tcp,self",
        "UCX_NET_DEVICES": "eth0",
        "MPIR_CVAR_NOLOCAL": "1",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self",
        "OMPI_MCA_btl_tcp_if_include": "eth0",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "I_MPI_FABRICS": "ofi",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": "eth0",
    }


def waiting(ranks: int) -> dict[str, str]:
    """How ranks wait: they let others have the core where there are fewer cores than ranks.

    They cannot see it: each sees the ranks of its own host only.  A setting of the user's stands.
    """
    word = "yield" if ranks > len(os.sched_getaffinity(0)) else "spin"
    return {"MPICOLL_WAIT": os.environ.get("MPICOLL_WAIT", word)}
