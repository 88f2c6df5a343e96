"""Where an ``mpiexec`` puts its ranks: one on each host in turns, or so many on each."""

from __future__ import annotations

from .errors import ClusterError
from .spec import Spec, waiting

SHARED = {"MPIR_CVAR_NOLOCAL": "0", "OMPI_MCA_btl": "tcp,self,sm", "I_MPI_FABRICS": "shm:ofi"}
"""What lets ranks of one host talk through its memory; between hosts there are still the links."""


def variables(spec: Spec, ranks: int, per_host: str | None) -> dict[str, str]:
    """What makes any mpiexec place so many ranks; ``per_host`` as the command line has it.

    Raises ``ClusterError`` where it makes no sense.
    """
    hosts = str(spec.files / "hosts")
    if per_host is None:
        return _placed(hosts, hosts, "1", "node:OVERSUBSCRIBE") | waiting(ranks)
    counts = places(spec, per_host)
    if ranks != sum(counts):
        raise ClusterError(
            f"--per-host {per_host}: that is {sum(counts)} ranks on {len(counts)} hosts, "
            f"not -n {ranks}"
        )
    colons, slots = (_write(spec, counts, mark, per_host) for mark in (":", " slots="))
    return _placed(colons, slots, str(counts[0]), "slot:OVERSUBSCRIBE") | SHARED | waiting(ranks)


def places(spec: Spec, per_host: str) -> list[int]:
    """The ranks of each host from 2, the same on all, or 3,2,2,1; raises ``ClusterError``."""
    words = per_host.split(",")
    if not all(word.isdecimal() and int(word) for word in words) or len(words) > spec.hosts:
        raise ClusterError(
            f"--per-host {per_host}: expected such as 2, or up to {spec.hosts} numbers: 3,2,2,1"
        )
    counts = list(map(int, words))
    return counts * spec.hosts if len(counts) == 1 else counts


def _write(spec: Spec, counts: list[int], mark: str, per_host: str) -> str:
    """A file of hosts with their places, ``mark`` between the two; its path."""
    kind = "colons" if mark == ":" else "slots"
    path = spec.files / f"hosts-{per_host}-{kind}"
    lines = (f"{name}{mark}{count}\n" for name, count in zip(spec.names, counts, strict=False))
    path.write_text("".join(lines))
    return str(path)


def _placed(hydra: str, prte: str, intel: str, policy: str) -> dict[str, str]:
    return {
        "HYDRA_HOST_FILE": hydra,
        "I_MPI_HYDRA_HOST_FILE": hydra,
        "I_MPI_PERHOST": intel,
        "PRTE_MCA_prte_default_hostfile": prte,
        "PRTE_MCA_rmaps_default_mapping_policy": policy,
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    }
