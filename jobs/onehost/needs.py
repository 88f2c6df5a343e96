"""What must be installed, and by which Debian package."""

from __future__ import annotations

import os
import shutil

from .errors import ClusterError

NETWORK = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}
SLURM = {
    "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "munged": "munge",
}  # fmt: skip
"""The package of each program, on Debian and Ubuntu."""


def missing(slurm: bool) -> list[str]:
    """The packages of the programs that are not found."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    needed = NETWORK | (SLURM if slurm else {})
    lacking = (package for name, package in needed.items() if not shutil.which(name, path=path))
    return list(dict.fromkeys(lacking))


def require(slurm: bool) -> None:
    """Raise ``ClusterError`` where this user or machine cannot run a cluster."""
    packages = missing(slurm)
    if packages:
        cure = f"apt-get install --no-install-recommends {' '.join(packages)}"
        without = ", or --no-slurm" if slurm and not missing(slurm=False) else ""
        raise ClusterError(
            f"missing packages: {', '.join(packages)}; install them: {cure}{without}"
        )
    if os.geteuid() != 0:
        raise ClusterError("only root can make network namespaces; run it with sudo")
