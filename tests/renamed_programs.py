"""The same program said otherwise: other names, labels, and nests in another order."""

import re
from collections.abc import Mapping, Sequence

from polygym.frontend.c import parse_text
from polygym.programs.generate import generate_source

_ASSIGNMENT = re.compile(r"(?m)^(\s*)([A-Za-z_]\w*(?:\[[^=;]*\])?\s*[-+*]?=[^=;]*;)$")
_PARTS = re.compile(r"void (\w+)\((.*)\)\n\{\n#pragma scop\n(.*)#pragma endscop\n\}", re.DOTALL)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other identifiers."""
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda match: names.get(match[0], match[0]), text)


def names_of(text: str) -> dict[str, list[str]]:
    """Return what a C text calls its parameters, arrays, iterators and statements."""
    scop = parse_text(text)
    return {
        "parameters": [parameter.name for parameter in scop.parameters],
        "arrays": [array.name for array in scop.arrays],
        "iterators": sorted(
            {name for statement in scop.statements for name in statement.iterators}
        ),
        "statements": [statement.name for statement in scop.statements],
    }


def reversing(names: Sequence[str], beginning: str) -> dict[str, str]:
    """Return other names, which stand in the opposite order where they are sorted."""
    last = len(names) - 1
    return {name: f"{beginning}_{last - place:02}" for place, name in enumerate(sorted(set(names)))}


def labelled(text: str, beginning: str = "S") -> str:
    """Return a text that has a label at every statement: S0, S1, … if nothing else is wanted."""
    count = -1

    def one(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"{match[1]}{beginning}{count}: {match[2]}"

    return _ASSIGNMENT.sub(one, text)


def beside_each_other(first: int, second: int) -> tuple[str, str, list[int]]:
    """Return two random programs in one region, in either order, and where statements are then.

    The nests of the one have nothing to do with those of the other. Statement k of the first text
    is statement ``rows[k]`` of the second; they have labels, the same in both.
    """
    texts = [generate_source(seed) for seed in (first, second)]
    parts = []
    for place, text in enumerate(texts):
        names = names_of(text)
        others = {
            name: f"{name}_{place}"
            for kind in ("parameters", "arrays", "iterators")
            for name in names[kind]
        }
        match = _PARTS.search(renamed(labelled(text, "ST"[place]), others))
        assert match is not None
        parts.append((match[2], match[3], len(names["statements"])))
    (one, here, count), (other, there, more) = parts
    sizes, arrays = arguments_of(f"{one}, {other}")
    signature = ", ".join([*sizes, *arrays])
    before, after = (
        f"void f({signature})\n{{\n#pragma scop\n{body}#pragma endscop\n}}\n"
        for body in (here + there, there + here)
    )
    return before, after, [*(more + k for k in range(count)), *range(more)]


def reordered(text: str) -> str:
    """Return a random program whose function takes sizes, and arrays, the other way round."""
    match = _PARTS.search(text)
    assert match is not None
    sizes, arrays = arguments_of(match[2])
    return text.replace(match[2], ", ".join([*sizes[::-1], *arrays[::-1]]))


def arguments_of(signature: str) -> tuple[list[str], list[str]]:
    """Return the sizes and the arrays that a function takes."""
    sizes: list[str] = []
    arrays: list[str] = []
    for argument in signature.split(", "):
        (arrays if "[" in argument else sizes).append(argument)
    return sizes, arrays
