"""Numbers of ranks in other bases than two: digits, powers and factors."""

from __future__ import annotations

from collections.abc import Iterator


def ceil_log(size: int, radix: int = 2) -> int:
    """The rounds in which one rank reaches all others, where reach grows ``radix``-fold in each."""
    return sum(1 for _ in powers(size, radix))


def powers(size: int, radix: int) -> Iterator[int]:
    """The powers of the radix below the size: 1, radix, radix^2, ..."""
    power = 1
    while power < size:
        yield power
        power *= radix


def hops(size: int, radix: int) -> int:
    """The distances below the size that are 1 to radix - 1 times a power of the radix."""
    return sum(min(radix - 1, (size - 1) // power) for power in powers(size, radix))


def smooth(size: int, radix: int) -> int:
    """The largest number up to the size that is a product of factors from 2 to the radix."""
    return next(number for number in range(size, 0, -1) if _rest(number, radix) == 1)


def factors(size: int, radix: int) -> tuple[int, ...]:
    """Factors from 2 to the radix whose product is ``smooth(size, radix)``, the largest first."""
    rest, found = smooth(size, radix), list[int]()
    while rest > 1:
        found.append(next(one for one in range(min(radix, rest), 1, -1) if rest % one == 0))
        rest //= found[-1]
    return tuple(found)


def _rest(number: int, radix: int) -> int:
    """What is left of a number when all factors from 2 to the radix are divided out."""
    for factor in range(2, min(radix, number) + 1):
        while number % factor == 0:
            number //= factor
    return number
