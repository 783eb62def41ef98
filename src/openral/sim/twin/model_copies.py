"""How many copies a model asks for, before MuJoCo makes them: a line can ask for 10⁹ bodies."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from xml.parsers import expat

MAX_COPIES = 100_000
_COPYING = ("replicate", "flexcomp", "composite")
_CEILING = 10**18


def most_copies(path: Path) -> int:
    """The largest product of nested counts in one file; 1 for what is no XML.

    Files that it includes are not looked into: time and memory of an import are limited as well.
    """
    around, most = [1], 1

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal most
        own = _count(attributes.get("count", "")) if name in _COPYING else 1
        around.append(min(_CEILING, around[-1] * own))
        most = max(most, around[-1])

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: around.pop()
    with suppress(expat.ExpatError), path.open("rb") as file:
        parser.ParseFile(file)
    return most


def _count(text: str) -> int:
    words = [word for word in text.split() if word.isdecimal()]
    numbers = [int(word) if len(word) < 18 else _CEILING for word in words]
    return min(_CEILING, math.prod(max(1, number) for number in numbers))
