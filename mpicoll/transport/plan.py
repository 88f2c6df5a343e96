"""The plan: a program bound once to memory and a communicator, and replayed as often as wanted.

Replaying a round is one start, one wait and the local steps: a walk along functions and arguments
that were all made ready when the plan was.  Short messages go by compiled code where there is some.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from .binding import Binding, Bound, BoundRound, BoundStep
from .compiled import compiled_steps
from .program import Program
from .progress import TASKS, Task, waiter
from .waiting import ALONE


class Plan(Task):
    """A bound collective, persistent as in MPI-4 (section 6.13): start, wait, and again.

    ``algorithm`` is the name of what runs.
    """

    def __init__(self, program: Program, binding: Binding, algorithm: str) -> None:
        super().__init__(binding.ways)
        self.algorithm = algorithm
        self._binding = binding
        self._bound = Bound(program, binding)
        self._rounds = self._bound.rounds
        self._steps = compiled_steps(self._rounds, binding) or _interpreted(self._rounds, binding)
        self._at = -1
        self._freed = False

    # -- replay

    def run(self) -> None:
        """Start and wait in one call; the fastest way to replay."""
        if self._at >= 0 or self._freed or self.awaited:
            self._check_idle("run")
        if TASKS:
            self._run_beside_others()
            return
        self._at = 0
        for function, arguments in self._steps:
            function(*arguments)
        self._at = -1

    def _run_beside_others(self) -> None:
        """Run, and advance everything else that is under way meanwhile."""
        wait = waiter(self.ways.wait)
        self.begin()
        while self._at >= 0:
            wait(self._rounds[self._at].requests)
            self._leave()

    def Start(self) -> None:
        """Begin; progress is made in ``Test`` and ``Wait`` of this and of all others."""
        self.begin()
        self.register()

    @staticmethod
    def Startall(requests: Sequence[Any]) -> None:
        """Start several, plans and MPI's persistent requests in any mixture."""
        for request in requests:
            request.Start()

    def begin(self) -> None:
        """Begin, for somebody who sees to the progress."""
        self._check_idle("Start")
        for hook in self._binding.load:
            hook()
        self._enter(0)

    def advance(self) -> bool:
        """Go as far as possible without waiting; whether the collective is complete."""
        while self._at >= 0:
            if not MPI.Request.Testall(self._rounds[self._at].requests):
                return False
            self._leave()
        return True

    def finish(self) -> None:
        """Go to the end, waiting in each round."""
        while self._at >= 0:
            MPI.Request.Waitall(self._rounds[self._at].requests)
            self._leave()

    def Free(self) -> None:
        """Free the requests and the scratch; a plan that is under way is a ``RuntimeError``."""
        if self._freed:
            return
        self._check_idle("Free")
        self._bound.free()
        self._rounds, self._steps = [], []
        self._freed = True

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.Free()

    @property
    def stage(self) -> int:
        """The number of the round that is under way, -1 where none is."""
        return self._at

    @property
    def scratch(self) -> int:
        """The bytes of scratch that the plan uses."""
        return self._bound.scratch

    @property
    def requests(self) -> int:
        """The number of its messages, each a persistent request of MPI's."""
        return sum(len(entry.requests) for entry in self._rounds)

    def _check_idle(self, what: str) -> None:
        if self._freed:
            raise RuntimeError(f"{what} of a plan that was freed; make a new one")
        if self._at >= 0 or self.awaited:
            raise RuntimeError(f"{what} of a plan that is under way; Wait for it first")

    def _enter(self, number: int) -> None:
        self._at = number
        if number == len(self._rounds):
            self._at = -1
            for hook in self._binding.store:
                hook()
            return
        entry = self._rounds[number]
        _do(entry.start)
        _do(entry.during)

    def _leave(self) -> None:
        _do(self._rounds[self._at].after)
        self._enter(self._at + 1)


def _do(steps: list[BoundStep]) -> None:
    for function, arguments in steps:
        function(*arguments)


def _interpreted(rounds: list[BoundRound], binding: Binding) -> list[BoundStep]:
    """All rounds as one walk."""
    wait = ALONE[binding.ways.wait]
    steps: list[BoundStep] = [(hook, ()) for hook in binding.load]
    for entry in rounds:
        steps += [*entry.start, *entry.during]
        steps += [(wait, (entry.requests,))] if entry.requests else []
        steps += entry.after
    return [*steps, *((hook, ()) for hook in binding.store)]
