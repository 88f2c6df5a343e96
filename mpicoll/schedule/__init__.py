"""What happens: algorithms as schedules, and all that can be said of them without running them.

Imports the standard library only.
"""

from .catalogue import (
    VENDOR,
    Algorithm,
    algorithm,
    algorithms,
    catalogue,
    collectives,
    find,
    relays,
    require,
    serving,
)
from .contract import CONTRACTS, Contract, Cut
from .cost import Cost, Machine, cost, estimate, even_blocks
from .errors import ScheduleError, UnknownName, Unserved
from .verify import Proof, sample_roots, verify, verify_rounds

__all__ = [
    "CONTRACTS",
    "VENDOR",
    "Algorithm",
    "Contract",
    "Cost",
    "Cut",
    "Machine",
    "Proof",
    "ScheduleError",
    "UnknownName",
    "Unserved",
    "algorithm",
    "algorithms",
    "catalogue",
    "collectives",
    "cost",
    "estimate",
    "even_blocks",
    "find",
    "relays",
    "require",
    "sample_roots",
    "serving",
    "verify",
    "verify_rounds",
]
