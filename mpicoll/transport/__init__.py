"""How it happens: buffers, operators, and schedules bound to them as plans.

The only place where collectives call MPI's point-to-point operations.
"""

from .operators import Op
from .plan import Plan
from .request import Request

__all__ = ["Op", "Plan", "Request"]
