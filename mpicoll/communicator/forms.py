"""The three forms of each collective: blocking, non-blocking and persistent, from one binding."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from mpi4py import MPI

from ..schedule import CONTRACTS, VENDOR, Unserved, collectives
from ..transport.plan import Plan
from ..transport.request import Request
from .by_vendor import VendorPlan
from .call import Call
from .kept import fingerprint

if TYPE_CHECKING:
    from .communicator import Communicator

Bind: TypeAlias = Callable[..., Call]
Method: TypeAlias = Callable[..., Any]

_CHOICE = """

Buffers may have any layout in memory.  What is wrong with an argument is a ``TypeError`` or a
``ValueError`` before the first message.

algorithm : str, optional
    One of ``mpicoll.algorithms({collective!r})``, or {vendor!r} for MPI's own; by default, among
    those that serve the call, what won where this was tuned, else the cheapest by the cost model.
    Raises ``UnknownName``, or ``Unserved`` where it cannot serve the call.
deterministic : bool, optional
    Whether the bits may depend on the number of ranks only; by default the communicator's.
"""


def forms(name: str, bind: Bind) -> tuple[Method, Method, Method]:
    """The methods ``Name``, ``Iname`` and ``Name_init`` of a collective.

    ``bind`` takes the arguments of the blocking method and has its docstring.
    """
    nonblocking_name = "I" + name[0].lower() + name[1:]
    collective = max((c for c in collectives() if bind.__name__.startswith(c)), key=len)

    def blocking(self: Communicator, *args: Any, **kwargs: Any) -> None:
        key = fingerprint(name, self.deterministic, args, kwargs)
        if self._kept.replay(key):
            return
        algorithm, deterministic = _take_choice(kwargs)
        if _is_vendor(self, collective, algorithm, deterministic):
            getattr(self.vendor, name)(*args, **kwargs)
            return
        call, channel = bind(self, *args, **kwargs), self._blocking_channel()
        if key is not None:
            call.borrow()
        self._kept.run(key, call, self._plans(call, algorithm, deterministic, channel))

    def nonblocking(self: Communicator, *args: Any, **kwargs: Any) -> Request | MPI.Request:
        algorithm, deterministic = _take_choice(kwargs)
        if _is_vendor(self, collective, algorithm, deterministic):
            request: MPI.Request = getattr(self.vendor, nonblocking_name)(*args, **kwargs)
            return request
        call, channel = bind(self, *args, **kwargs), self._nonblocking_channel()
        plans = self._plans(call, algorithm, deterministic, channel)
        return Request(plans, owner=self, ways=self._ways)

    def persistent(self: Communicator, *args: Any, **kwargs: Any) -> Plan | VendorPlan:
        algorithm, deterministic = _take_choice(kwargs)
        kwargs.pop("info", None)
        plan: Plan | VendorPlan
        if _is_vendor(self, collective, algorithm, deterministic):
            methods = (getattr(self.vendor, method) for method in (name, nonblocking_name))
            block, begin = (partial(method, *args, **kwargs) for method in methods)
            plan = VendorPlan(block, begin)
        else:
            call, channel = bind(self, *args, **kwargs), self._persistent_channel()
            plan = next(self._plans(call, algorithm, deterministic, channel, persistent=True))
        plan.ways = self._ways
        return plan

    _dress(blocking, bind, collective, name, "", "None")
    _dress(nonblocking, bind, collective, nonblocking_name, "Non-blocking.  ", "Request")
    _dress(persistent, bind, collective, f"{name}_init", "Persistent: make a plan.  ", "Plan")
    return blocking, nonblocking, persistent


def _take_choice(kwargs: dict[str, Any]) -> tuple[str | None, bool | None]:
    return kwargs.pop("algorithm", None), kwargs.pop("deterministic", None)


def _is_vendor(
    comm: Communicator, collective: str, algorithm: str | None, deterministic: bool | None
) -> bool:
    """Whether MPI's own is asked for; ``Unserved`` where its bits would not do."""
    fixed = comm.deterministic if deterministic is None else deterministic
    if algorithm == VENDOR and fixed and CONTRACTS[collective].operates:
        raise Unserved(
            f"{collective} {VENDOR!r} cannot serve this call: with deterministic=True its bits "
            "must be those of the canonical tree, which MPI's own does not promise; name another"
        )
    return algorithm == VENDOR


def _dress(
    function: Method, bind: Bind, collective: str, title: str, prefix: str, returns: str
) -> None:
    """Give a method the name, the signature and the docstring that a reader expects."""
    function.__name__ = title
    function.__qualname__ = f"Communicator.{title}"
    choice = _CHOICE.format(collective=collective, vendor=VENDOR)
    function.__doc__ = prefix + (inspect.getdoc(bind) or "") + choice
    signature = inspect.signature(bind)
    _, *given = signature.parameters.values()
    parameters = [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *given,
        _keyword("algorithm", "str | None"),
        _keyword("deterministic", "bool | None"),
    ]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=returns
    )


def _keyword(name: str, annotation: str) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=None, annotation=annotation)
