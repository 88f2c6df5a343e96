"""What a search for winners found, as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from ..communicator.tuning import Tuning
from ..schedule import VENDOR, Machine
from ..schedule.words import counted
from .statistics import CONFIDENCE
from .tune import Verdict
from .words import size_words

_LAYOUT = "{:>10}  {:<{width}} {:>10}  {:<{width}} {:>10} {:>10}  {}"


def header_lines(tuning: Tuning, noise_us: float) -> list[str]:
    """Where the search takes place, and the constants that it goes by."""
    place = tuning.place
    assert place is not None
    links = {"node": tuning.node, "network": tuning.network}
    known = [_link_words(name, link) for name, link in links.items() if link is not None]
    return [
        f"# mpicoll {tuning.made['mpicoll']} tune, {tuning.made['date']}",
        f"# {place.mpi} {place.version}, {counted(len(tuning.nodes), 'rank')} on "
        f"{counted(len(set(tuning.nodes)), 'node')}; {place.cores} cores of {place.host}, "
        f"{place.cpu}",
        *known,
        "# used: the fastest where it beats the model's choice beyond noise, which is the "
        f"{CONFIDENCE:.0%} interval",
        f"# of their ratio and {noise_us:.2f} us; else the model's choice",
    ]


def _link_words(name: str, link: Machine) -> str:
    reduced = f", gamma {link.gamma * 1e9:.3g} ns/byte" if link.gamma else ""
    return f"# {name}: alpha {link.alpha * 1e6:.3g} us, beta {link.beta * 1e9:.3g} ns/byte{reduced}"


def section_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """The table of one collective: what is used up to each size, and what else was in reach."""
    names = [name for one in verdicts for name in (one.winner.use, one.model)]
    width = max(len("the model's"), *map(len, names))
    heading = ("up to", "use", "time (us)", "the model's", "time (us)", "vendor", "gain")
    return [
        "#",
        f"# {verdicts[0].case.collective}",
        "#" + _LAYOUT.format(*heading, width=width)[1:],
        *(_line(one, width) for one in verdicts),
    ]


def _line(one: Verdict, width: int) -> str:
    size = size_words(one.winner.up_to)
    if one.skipped:
        return f"#{size:>9}  not measured: {one.skipped}"
    times, use = one.winner.times, one.winner.use
    value, low, high = one.gain
    gain = "" if use == one.model else f"{value:.2f}x [{low:.2f}, {high:.2f}]"
    gain = f"WRONG: {one.wrong} elements" if one.wrong else gain
    measured = (_time(times.get(name)) for name in (use, one.model, VENDOR))
    first, second, third = measured
    return _LAYOUT.format(size, use, first, one.model, second, third, gain, width=width).rstrip()


def _time(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
