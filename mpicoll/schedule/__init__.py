"""What happens: algorithms as schedules, and all that can be said of them without running them.

Imports the standard library only.
"""

from .algorithm import Algorithm, base_name
from .catalogue import (
    VENDOR,
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
from .cost import Cost, Machine, cost, cut, estimate, even_blocks
from .errors import BadOption, ScheduleError, UnknownName, Unserved
from .verify import Proof, sample_roots, verify, verify_rounds

__all__ = [
    "CONTRACTS",
    "VENDOR",
    "Algorithm",
    "BadOption",
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
    "base_name",
    "catalogue",
    "collectives",
    "cost",
    "cut",
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
