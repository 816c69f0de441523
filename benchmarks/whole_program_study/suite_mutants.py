"""A mutant: a program of the suite in which one word or one statement was changed.

The change is mostly in the function of the nest, before or in the loops::

    double *now = g->now;              double *now = g->now + 1;
    for (i = 1; i < n - 1; i++)   →    for (i = 1; i < n - 1; i++)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from coverage_study.loop_text import marked_loops
from coverage_study.nests import SuiteNest, SuiteProgram, suite_nests, suite_programs

from whole_program_study.checking import CheckedProgram

SUITE = Path(__file__).parents[1] / "suite"
IN_FUNCTION = 0.85  # share of changes in the function of the nest
# C leaves open whether a product that is added is rounded before.
ROUNDED = "#pragma STDC FP_CONTRACT OFF\n"
_ATTEMPTS = 20
_TOKEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|0[xX][0-9a-fA-F]+\w*|\d+\.\d*\w*|\w+|<<=|>>=|->|[-+*/%<>=!&|^]=|\+\+|--|&&|\|\||<<|>>|\s+|[^\w\s]",
    re.DOTALL | re.MULTILINE,
)
_ALIKE = (
    ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"),
    ("<", "<=", ">", ">=", "==", "!="),
    ("+=", "-=", "*=", "=", "|=", "&=", "^=", "<<=", ">>="),
    ("++", "--"),
    ("&&", "||"),
    ("->", "."),
    ("int", "unsigned", "long", "short", "char", "size_t", "double", "float"),
    ("double", "float"),
    ("unsigned", "signed", "const", "static", "volatile", ""),
    ("break", "continue", "return"),
)
_KEYWORDS = frozenset(
    "for while if else do switch case default break continue return struct typedef static const "
    "int unsigned long short char double float void sizeof include define main size_t enum".split()
)
Change = Callable[[list[str], np.random.Generator], list[str]]


def suite_mutant(seed: Sequence[int]) -> tuple[str, CheckedProgram]:
    """Return the name of a nest, and its program with a change."""
    rng = np.random.default_rng(list(seed))
    nest, program = _nests()[int(rng.integers(len(_nests())))]
    path = SUITE / nest.file
    text = ROUNDED + mutated(path.read_text(encoding="utf-8"), nest, rng)
    lines = {loop.name: loop.line for loop in marked_loops(text)}
    folders = (str(path.parent), *program.flags.include_directories)
    units = tuple(str(SUITE / unit) for unit in program.units if unit != nest.file)
    name = f"{nest.file} {nest.loop.name}"
    line = lines.get(nest.loop.name, nest.loop.line)
    return name, CheckedProgram(
        ((path.name, text),), line, tuple(folders), program.flags.macros, units
    )


@cache
def _nests() -> tuple[tuple[SuiteNest, SuiteProgram], ...]:
    """Return the nests that are to be accepted without an option, with their programs."""
    by_unit = {unit: program for program in suite_programs(SUITE) for unit in program.units}
    return tuple(
        (nest, by_unit[nest.file])
        for nest in suite_nests(SUITE)
        if nest.expected == "accept" and not nest.options
    )


def mutated(text: str, nest: SuiteNest, rng: np.random.Generator) -> str:
    """Return a text with one change, in the function of a nest or somewhere."""
    begin, end = _function(text, nest) if rng.random() < IN_FUNCTION else (0, len(text))
    words = _TOKEN.findall(text[begin:end])
    for _ in range(_ATTEMPTS):
        changed = _CHANGES[int(rng.integers(len(_CHANGES)))](list(words), rng)
        if changed != words:
            break
    return text[:begin] + "".join(changed) + text[end:]


def _function(text: str, nest: SuiteNest) -> tuple[int, int]:
    """Return where the function around a loop begins and ends; its brace ends a line's start."""
    loop = sum(len(line) + 1 for line in text.split("\n")[: nest.loop.line - 1])
    heads = [m.start() for m in re.finditer(r"^\w[^\n;]*\(", text[:loop], re.MULTILINE)]
    end = text.find("\n}", loop)
    return heads[-1] if heads else 0, end if end >= 0 else len(text)


def _places(words: list[str], is_wanted: Callable[[str], bool]) -> list[int]:
    return [place for place, word in enumerate(words) if is_wanted(word)]


def _replaced(
    words: list[str],
    rng: np.random.Generator,
    is_wanted: Callable[[str], bool],
    other: Callable[[str], str],
) -> list[str]:
    places = _places(words, is_wanted)
    if places:
        place = int(rng.choice(places))
        words[place] = other(words[place])
    return words


def _is_name(word: str) -> bool:
    return word.isidentifier() and word not in _KEYWORDS


def change_number(words: list[str], rng: np.random.Generator) -> list[str]:
    """Another number: a neighbour, zero, the double."""

    def other(word: str) -> str:
        value = int(word)
        return str(rng.choice([0, 1, 2, value + 1, max(0, value - 1), 2 * value]))

    return _replaced(words, rng, lambda word: bool(re.fullmatch(r"0|[1-9]\d*", word)), other)


def change_operator(words: list[str], rng: np.random.Generator) -> list[str]:
    """An operator, a type or a keyword of the same group."""

    def other(word: str) -> str:
        groups = [group for group in _ALIKE if word in group]
        group = groups[int(rng.integers(len(groups)))]
        return str(rng.choice([each for each in group if each != word]))

    return _replaced(words, rng, lambda w: any(w in group for group in _ALIKE), other)


def change_name(words: list[str], rng: np.random.Generator) -> list[str]:
    """A name for another of the text."""
    names = [word for word in words if _is_name(word)]
    return _replaced(words, rng, _is_name, lambda _: str(rng.choice(names)))


def shift_name(words: list[str], rng: np.random.Generator) -> list[str]:
    """A name with a number added: an index, a bound, a pointer."""
    by = str(rng.choice(["+ 1", "- 1", "+ 2"]))
    return _replaced(words, rng, _is_name, lambda word: f"({word} {by})")


def drop_word(words: list[str], rng: np.random.Generator) -> list[str]:
    """A word less."""
    return _replaced(words, rng, lambda word: not word.isspace(), lambda _: "")


def change_lines(words: list[str], rng: np.random.Generator) -> list[str]:
    """A statement that is left out, stands twice, or behind the next; a line is one."""
    lines = "".join(words).split("\n")
    places = [place for place, line in enumerate(lines) if line.rstrip().endswith(";")]
    if not places:
        return words
    place, other = (int(rng.choice(places)) for _ in range(2))
    match int(rng.integers(4)):
        case 0:
            lines[place] = ""
        case 1:
            lines.insert(place, lines[place])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            behind = place + 1 if place + 1 in places else place - 1
            if behind in places:
                lines[place], lines[behind] = lines[behind], lines[place]
    return _TOKEN.findall("\n".join(lines))


_CHANGES: tuple[Change, ...] = (
    *(change_number, change_operator, change_operator, change_name, shift_name) * 2,
    *(change_lines, change_lines, drop_word),
)
