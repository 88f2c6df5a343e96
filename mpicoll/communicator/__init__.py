"""Face 1: mpi4py's own method names and signatures, plus ``algorithm=``."""

from .communicator import Communicator

__all__ = ["Communicator"]
