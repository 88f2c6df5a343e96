"""Face 1: mpi4py's own method names and signatures, plus ``algorithm=``."""

from .communicator import Communicator
from .tuning import Tuning, TuningError, TuningWarning

__all__ = ["Communicator", "Tuning", "TuningError", "TuningWarning"]
