"""The picture of a schedule: what each rank holds after each round, and every message, as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from .algorithm import Algorithm
from .catalogue import require
from .contract import Cut
from .cost import Cost, cost, even_blocks
from .errors import Unserved
from .forms import Form, node_counts
from .matching import check_messages
from .simulate import Simulation
from .steps import (
    DATA,
    Blocks,
    Copy,
    Recv,
    RecvReduce,
    Reduce,
    Round,
    Send,
    Step,
    pair,
)
from .words import counted, members, ranges

LARGEST = 16
"""The most ranks that a picture is readable for."""

LEGEND = """\
Columns are ranks, rows are blocks, a cell lists the ranks whose contributions are in the block
(1-7/2: every second from 1 to 7); "." is nothing, "*" is new in this round.  "0 > 1" is a message
from rank 0 to rank 1."""

PAIR_LEGEND = """\
Columns are ranks, rows are senders, a cell lists those for whom blocks of that sender are here
(1-7/2: every second from 1 to 7); "." is none, "*" is new in this round.  "0 > 1" is a message
from rank 0 to rank 1."""


def draw(algorithm: Algorithm, size: int, root: int = 0) -> str:
    """The picture of an algorithm on 1 to 16 ranks, as text that ends in a line end.

    Raises ``Unserved`` for more ranks than are readable and for what the algorithm cannot serve.
    """
    require(algorithm, size)
    if size > LARGEST:
        name = f"{algorithm.collective} {algorithm.name}"
        raise Unserved(
            f"a picture of {size} ranks is not readable: draw at most {LARGEST}, "
            f"or prove any number with: mpicoll verify {name} --ranks {size}"
        )
    heading = _heading(algorithm, size, root)
    if size == 1:
        return f"{heading}\n\nOne rank sends nothing.\n"
    prices = _prices(algorithm, size, root)
    return "\n\n".join([heading, prices, *_Picture(algorithm, size, root).parts()]) + "\n"


def _heading(algorithm: Algorithm, size: int, root: int) -> str:
    contract = algorithm.contract
    title = f"{algorithm.collective} {algorithm.name}: {counted(size, 'rank')}"
    title += f", root {root}" if contract.rooted else ""
    if contract.cut is Cut.VECTOR:
        title += f", {counted(algorithm.block_count(size), 'block')}"
    restrictions = "; ".join(algorithm.restrictions) or "none"
    options = f" Options: {', '.join(algorithm.choices)}." if algorithm.choices else ""
    return f"{title}\n\n{algorithm.help}\n\nRestrictions: {restrictions}.{options}"


def _prices(algorithm: Algorithm, size: int, root: int) -> str:
    """What the schedule costs by its own count, beside the closed forms."""
    unit = size if algorithm.contract.cut is Cut.PAIR else algorithm.block_count(size)
    price = cost(algorithm, size, even_blocks(algorithm, size, unit), root)
    rows = (
        ("rounds", str(price.rounds), algorithm.forms.rounds),
        ("messages", str(price.startups), algorithm.forms.startups),
        ("bytes moved", _share(price.volume, unit), algorithm.forms.volume),
        ("bytes combined", _share(price.reduced, unit), algorithm.forms.reduced),
    )
    known = {"b": algorithm.vector_blocks(size), **node_counts(size), **algorithm.settings(size)}
    lines = [f"  {name:<16}{value:>8}   {_closed(form, known)}" for name, value, form in rows]
    return "\n".join(["Cost, of the busiest rank of each round:", *lines, _total(price, unit)])


def _closed(form: Form, known: Mapping[str, int]) -> str:
    """A closed form as it stands, with the numbers that do not follow from the ranks."""
    used = [f"{name} = {value}" for name, value in known.items() if name in form.code.co_names]
    return f"{form.text}   with {', '.join(used)}" if used else form.text


def _total(price: Cost, unit: int) -> str:
    busiest = max(range(len(price.messages)), key=lambda rank: price.bytes_sent[rank])
    even = len(set(price.bytes_sent)) == len(set(price.messages)) == 1
    who = "Every rank" if even else f"Rank {busiest}"
    mine = _share(price.bytes_sent[busiest], unit)
    together = f"all together {_share(sum(price.bytes_sent), unit)} in {sum(price.messages)}"
    return f"{who} sends {mine} in {counted(price.messages[busiest], 'message')}, {together}."


def _share(nbytes: int, unit: int) -> str:
    """A number of bytes in units of n, exactly."""
    fraction = Fraction(nbytes, unit)
    return "n" if fraction == 1 else f"{fraction} n" if fraction else "0"


class _Picture:
    """The tables and messages of each round."""

    def __init__(self, algorithm: Algorithm, size: int, root: int) -> None:
        rounds = [algorithm.generate(rank, size, root) for rank in range(size)]
        check_messages(rounds)
        self._size, self._blocks = size, algorithm.block_count(size)
        self._pairs = algorithm.contract.cut is Cut.PAIR
        self._columns = list(zip(*rounds, strict=True))
        self._simulation = Simulation(algorithm.contract, False, size, root, self._blocks)
        self._spaces = [DATA, *sorted(self._scratch())]

    def _scratch(self) -> set[str]:
        steps = [step for column in self._columns for mine in column for step in mine]
        return {space for step in steps for space in _spaces(step)} - {DATA}

    def parts(self) -> Iterator[str]:
        """The legend, the start, and each round."""
        yield PAIR_LEGEND if self._pairs else LEGEND
        cells = self._cells()
        yield "Start\n" + _table(cells, cells)
        for number, column in enumerate(self._columns):
            self._simulation.play(column)
            before, cells = cells, self._cells()
            lines = [*self._messages(column), *self._local_steps(column)]
            yield f"Round {number}\n" + "\n".join([*lines, "", _table(before, cells)])

    def _cells(self) -> dict[str, list[str]]:
        """The label of each row -> what each rank holds there."""
        if self._pairs:
            return {f"from {source}": self._targets(source) for source in range(self._size)}
        return {
            _label(space, block): [self._held(rank, block, space) for rank in range(self._size)]
            for space in self._spaces
            for block in range(self._blocks)
        }

    def _held(self, rank: int, block: int, space: str) -> str:
        return ranges(members(self._simulation.contributions(rank, block, space)))

    def _targets(self, source: int) -> list[str]:
        everywhere = range(self._size)
        return [
            ranges(
                [
                    target
                    for target in everywhere
                    if self._simulation.contributions(rank, pair(source, target, self._size))
                ]
            )
            for rank in everywhere
        ]

    def _messages(self, column: Sequence[Round]) -> Iterator[str]:
        """A line for each message of a round, in the order of its sender."""
        receives: dict[tuple[int, int], list[Recv | RecvReduce]] = defaultdict(list)
        for rank, mine in enumerate(column):
            for step in mine:
                if isinstance(step, Recv | RecvReduce):
                    receives[step.peer, rank].append(step)
        for rank, mine in enumerate(column):
            for step in mine:
                if isinstance(step, Send):
                    end = _arrival(step, receives[rank, step.peer].pop(0))
                    yield f"  {rank} > {step.peer}: {self._name(step.blocks)}{end}"

    def _local_steps(self, column: Sequence[Round]) -> Iterator[str]:
        """A line for each step that ranks take by themselves, once for ranks that do the same."""
        actors: dict[tuple[Copy | Reduce, ...], list[int]] = defaultdict(list)
        for rank, mine in enumerate(column):
            actors[tuple(step for step in mine if isinstance(step, Copy | Reduce))].append(rank)
        for steps, ranks in actors.items():
            for step in steps:
                done = "copied to"
                if isinstance(step, Reduce):
                    done = f"combined on the {step.side.value} of"
                what = f"{self._name(step.blocks)} of {step.source}"
                yield f"  {ranges(ranks)}: {what} {done} {step.target}"

    def _name(self, blocks: Blocks) -> str:
        if self._pairs:
            names = [f"{block // self._size} for {block % self._size}" for block in blocks]
            return ", ".join(names)
        return f"block{'s' * (len(blocks) > 1)} {ranges(sorted(blocks))}"


def _spaces(step: Step) -> tuple[str, ...]:
    """The spaces that a step touches."""
    return (step.source, step.target) if isinstance(step, Copy | Reduce) else (step.space,)


def _arrival(send: Send, receive: Recv | RecvReduce) -> str:
    """What becomes of a message, as far as it does not go without saying."""
    origin = f" of {send.space}" if send.space != DATA else ""
    target = f" into {receive.space}" if receive.space != DATA else ""
    if isinstance(receive, RecvReduce):
        return f"{origin}, combined on the {receive.side.value}{target}"
    return origin + target


def _label(space: str, block: int) -> str:
    return f"block {block}" if space == DATA else f"{space} {block}"


def _table(before: dict[str, list[str]], after: dict[str, list[str]]) -> str:
    """The rows of a table under a heading of ranks; what changed has a star."""
    rows = {"": [f"{rank} " for rank in range(len(next(iter(after.values()))))]}
    for label, cells in after.items():
        pairs = zip(cells, before[label], strict=True)
        rows[label] = [cell + ("*" if cell != old else " ") for cell, old in pairs]
    widths = [max(map(len, column)) for column in zip(*rows.values(), strict=True)]
    margin = max(map(len, rows))
    lines = (
        f"  {label:<{margin}}  {' '.join(map(str.rjust, cells, widths))}"
        for label, cells in rows.items()
    )
    return "\n".join(line.rstrip() for line in lines)
