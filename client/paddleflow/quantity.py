"""Quantities as people write them ("500m", "20Gi", "2") and the whole amounts they stand for.

The grammar is that of Kubernetes: a decimal number and a suffix, either decimal (``n u m``, none, ``k M G T P E``),
binary (``Ki Mi Gi Ti Pi Ei``) or an exponent (``e3``, ``E3``). An amount is counted in the unit of its resource:
thousandths of a core for ``cpu``, bytes for ``memory`` (also written ``mem``), pieces for anything else. Of memory a
part of a byte counts as a whole one, as it does in Kubernetes, so that ``1.1Gi`` can be said; any other amount that is
no whole number of its unit is refused rather than rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from math import ceil

from paddleflow.problems import InvalidArgument, Violation

CPU = "cpu"
MEMORY = "memory"
LARGEST = 10**18
"""The largest amount the API takes; sums of many still fit into 64 bits."""

_ALIASES = {"mem": MEMORY}
_UNITS = {CPU: ("thousandth of a core", 1000), MEMORY: ("byte", 1)}
_SHORT = 6
_BINARY = {"Ei": 2**60, "Pi": 2**50, "Ti": 2**40, "Gi": 2**30, "Mi": 2**20, "Ki": 2**10}
_DECIMAL = {"E": 10**18, "P": 10**15, "T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3}
_SUFFIXES: Mapping[str, Fraction] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(factor) for suffix, factor in (_BINARY | _DECIMAL).items()},
}
_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<digits>[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?P<suffix>.*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,2})", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9./_-]{1,128}", re.ASCII)


def resource_name(name: str) -> str:
    """The name the API knows the resource by; raises InvalidArgument if it can be none."""
    if not _NAME.fullmatch(name):
        raise _refused(name, "a resource name is at most 128 letters, digits and ./-_, such as nvidia.com/gpu")
    return _ALIASES.get(name, name)


def parse_amount(resource: str, text: str) -> int:
    """The amount that the text says of this resource; raises InvalidArgument naming what is wrong with it."""
    name = resource_name(resource)
    unit, per_one = _UNITS.get(name, ("piece", 1))
    amount = _number(name, text.strip()) * per_one
    if amount < 0:
        raise _refused(name, f"{text!r} is negative")
    if name == MEMORY:
        amount = Fraction(ceil(amount))
    if amount.denominator != 1:
        raise _refused(name, f"{text!r} is no whole number of units; the unit is one {unit}")
    if amount > LARGEST:
        raise _refused(name, f"{text!r} is more than the largest amount, {format_amount(name, LARGEST)}")
    return int(amount)


def format_amount(resource: str, amount: int) -> str:
    """The shortest exact way to write the amount."""
    if _ALIASES.get(resource, resource) == CPU:
        whole, thousandths = divmod(amount, 1000)
        return f"{amount}m" if thousandths else str(whole)
    if _ALIASES.get(resource, resource) == MEMORY:
        return _shortest(amount)
    return str(amount)


def round_amount(resource: str, amount: int) -> str:
    """The amount in three or four figures, for people who look at many; `format_amount` is exact."""
    exact = format_amount(resource, amount)
    if len(exact) <= _SHORT:
        return exact
    if _ALIASES.get(resource, resource) == CPU:
        return round_amount("", (amount + 500) // 1000)
    factors = _BINARY if _ALIASES.get(resource, resource) == MEMORY else _DECIMAL
    suffix, factor = next((suffix, factor) for suffix, factor in factors.items() if amount >= factor)
    # Four figures from 999.5 on, where three would be written with an exponent.
    return (
        f"{amount / factor:.3g}{suffix}"
        if amount * 2 < 1999 * factor
        else f"{(amount + factor // 2) // factor}{suffix}"
    )


def parse_resources(quantities: Mapping[str, str | int]) -> dict[str, int]:
    """Amounts by resource name; a number stands for what it would as text, so that ``{"cpu": 2}`` is two cores."""
    amounts: dict[str, int] = {}
    for resource, quantity in quantities.items():
        name = resource_name(resource)
        if name in amounts:
            raise _refused(name, "given twice (mem and memory are the same resource)")
        amounts[name] = parse_amount(name, str(quantity))
    return amounts


def format_resources(amounts: Mapping[str, int]) -> dict[str, str]:
    """Quantities by resource name: cpu and memory first, the others in order."""
    first = [name for name in (CPU, MEMORY) if name in amounts]
    others = sorted(amounts.keys() - {CPU, MEMORY})
    return {name: format_amount(name, amounts[name]) for name in [*first, *others]}


@contextmanager
def within(place: str) -> Iterator[None]:
    """Names the place, as in ``max.cpu``, in what is found wrong inside."""
    try:
        yield
    except InvalidArgument as problem:
        raise InvalidArgument.of(
            *(Violation(f"{place}.{wrong.field}", wrong.description) for wrong in problem.violations)
        ) from problem


def parse_pairs(field: str, text: str) -> dict[str, str]:
    """The pairs of ``a=1,b=2``, given in this field; spaces around them are of no account."""
    pairs: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, separator, value = item.partition("=")
        if not separator or not key.strip():
            raise _refused(field, f"{item!r} is not of the form name=value")
        if key.strip() in pairs:
            raise _refused(field, f"{key.strip()!r} is given twice")
        pairs[key.strip()] = value.strip()
    return pairs


def _number(name: str, text: str) -> Fraction:
    match = _NUMBER.fullmatch(text)
    factor = _factor(match["suffix"]) if match else None
    if match is None or factor is None:
        raise _refused(name, f"{text[:64]!r} is not a quantity such as 500m, 2, 1.5, 20Gi or 1e3")
    number = Fraction(match["digits"]) * factor
    return -number if match["sign"] == "-" else number


def _factor(suffix: str) -> Fraction | None:
    exponent = _EXPONENT.fullmatch(suffix)
    return Fraction(10) ** int(exponent[1]) if exponent else _SUFFIXES.get(suffix)


def _shortest(amount: int) -> str:
    factors = (_BINARY | _DECIMAL).items() if amount else ()
    written = [f"{amount // factor}{suffix}" for suffix, factor in factors if amount % factor == 0]
    return min([*written, str(amount)], key=len)


def _refused(field: str, description: str) -> InvalidArgument:
    return InvalidArgument.of(Violation(field, description))
