"""Which program at which sizes a visit is of: all of it follows from the seed and its number.

Programs come in three kinds, each with its share: kernels of the suite, comprehensions of the
library, random programs, each of which is another one. Ten kernels are there to test what is
learned, and are never taken by themselves, nor what does the same
(:mod:`polygym.search.corpus.held_out`).

A name such as ``scalars:*`` stands for any random program of its kind, another one in each visit.

Visits may come in threes, of one program at the same sizes in its *homes*
(:mod:`polygym.episodes.homes`): as it was written, expanded, and private to threads, or cut. Each
home is a case of its own; models compare what was measured in all three
(:mod:`polygym.search.corpus.samples`). A program that has nothing to choose from is replaced by the
next that the dice say.

Sizes are drawn so that the original order has to do about as many operations as dice say, between
:data:`LEAST_WORK` and :data:`MOST_WORK`, any order of magnitude as likely as another: first one
factor for all usual sizes, then each size a little larger or smaller. What comes to four times the
most is drawn again; a program whose sizes have their bounds may do less than the least. What is
larger than caches is among them, and what takes long is not, unless a choice has other bounds
(:attr:`Choice.work`): a corpus of many candidates says more than one of few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log
from pathlib import Path

import numpy as np

import polybench
from polybench import Dataset
from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.frontend.tc import library
from polygym.cost.reach import reach
from polygym.episodes.homes import MOST_HOMES, homes_of
from polygym.episodes.recipes import AS_WRITTEN, Recipe
from polygym.errors import InputError, PolygymError
from polygym.programs import Program, is_path, load_program
from polygym.programs.comprehensions import PREFIX as COMPREHENSION
from polygym.programs.generate import PREFIX as RANDOM
from polygym.programs.generate import drawn, is_any
from polygym.programs.selection import chosen_of, expect_files, selected
from polygym.search.corpus.held_out import TEST_KERNELS, is_held_out
from polygym.search.corpus.rows import Case

LEAST_WORK, MOST_WORK = 3e5, 1e8
_SHARES = (("random", 0.6), ("kernels", 0.25), ("comprehensions", 0.15))
_JITTER = 0.35
_ATTEMPTS = 12
_LEAST_SIZE = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """What visits choose from: names, or, where there are none, the usual kinds.

    ``work`` are the least and the most operations of the original order. ``function`` chooses the
    region of every file among the names, with the sizes that are given beside it.
    """

    names: tuple[str, ...] = ()
    work: tuple[float, float] = (LEAST_WORK, MOST_WORK)
    function: str | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing."""
        least, most = self.work
        if not 1 <= least <= most < inf:
            raise InputError(f"work: expected 1 <= least <= most, found {least:g} and {most:g}")
        expect_files(self.names, self.function)

    @staticmethod
    def of(
        patterns: Sequence[str],
        work: tuple[float, float] = (LEAST_WORK, MOST_WORK),
        function: str | None = None,
    ) -> Choice:
        """Return what patterns name; none stand for the usual kinds.

        Raises:
            InputError: a pattern names nothing, or a function is of no file.
        """
        texts = [one for text in patterns for one in _apart(text)]
        kinds = tuple(dict.fromkeys(filter(is_any, texts)))
        named = [one for one in texts if not is_any(one)]
        names = (*kinds, *(selected(named) if named else ()))
        return Choice(names, work, function)

    def program(self, dice: np.random.Generator) -> str:
        """Return the name of a program."""

        def roll(below: int) -> int:
            return int(dice.integers(below))

        if self.names:
            name = self.names[roll(len(self.names))]
            return drawn(name, roll) if is_any(name) else name
        shares = [share for _, share in _SHARES]
        match _SHARES[int(dice.choice(len(shares), p=shares))][0]:
            case "random":
                return drawn(RANDOM, roll)
            case "kernels":
                names = [one.name for one in polybench.KERNELS if one.name not in TEST_KERNELS]
            case _:
                names = [f"{COMPREHENSION}{name}" for name in library.definitions()]
        return names[int(dice.integers(len(names)))]


USUAL = Choice()
"""All kinds of programs."""


def _apart(text: str) -> list[str]:
    """Return the patterns of a text in which kinds of random programs stand, else the text.

    >>> _apart("scalars:*, mvt"), _apart("mvt, gemm")
    (['scalars:*', 'mvt'], ['mvt, gemm'])
    """
    parts = [one.strip() for one in text.split(",")]
    return parts if any(map(is_any, parts)) else [text]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a visit is of: a program at sizes, as a case, and the text of a user's file.

    ``is_empty`` says that it is there to be counted alone: the program has fewer homes.
    """

    program: Program
    case: Case
    text: str
    is_empty: bool = False


def chosen(
    choice: Choice,
    seed: int,
    number: int,
    recipe: Recipe = AS_WRITTEN,
    mapping: Mapping = DEFAULT,
) -> Chosen:
    """Return what a visit is of.

    What cannot be read, is far too large at all sizes, or does what a test kernel does though
    nobody asked for it, is replaced by the next that the dice say.
    """
    dice = np.random.default_rng([seed, number])
    for _ in range(_ATTEMPTS):
        name = choice.program(dice)
        try:
            program = recipe.of(_drawn(choice, name, dice), mapping)
            return Chosen(program, _case(choice, name, program), _text(name))
        except PolygymError as error:
            last = error
    raise InputError(f"no program among the first {_ATTEMPTS} can be measured; the last: {last}")


def chosen_home(
    choice: Choice, seed: int, number: int, limit: int, mapping: Mapping = DEFAULT
) -> Chosen:
    """Return what a visit is of where visits come in threes: a program in one of its homes.

    Where it has fewer than three, the last is empty. What :func:`chosen` would replace, and what
    has nothing to choose from, is replaced by the next that the dice say.
    """
    name, homes = _with_homes(choice, seed, number // MOST_HOMES, limit, mapping)
    place = number % MOST_HOMES
    program = homes[place] if place < len(homes) else homes[0]
    return Chosen(program, _case(choice, name, program), _text(name), place >= len(homes))


@lru_cache(maxsize=1)
def _with_homes(
    choice: Choice, seed: int, number: int, limit: int, mapping: Mapping
) -> tuple[str, tuple[Program, ...]]:
    """Return a program by its name, and in its homes; three visits want to know it."""
    dice = np.random.default_rng([seed, number])
    for _ in range(_ATTEMPTS):
        name = choice.program(dice)
        try:
            homes = homes_of(_drawn(choice, name, dice), mapping, limit)
            if len(homes) > 1:
                return name, homes
            last = f"{name}: is kept as it was written, there is nothing to choose from"
        except PolygymError as error:
            last = str(error)
    raise InputError(f"no program among the first {_ATTEMPTS} has homes; the last: {last}")


def _drawn(choice: Choice, name: str, dice: np.random.Generator) -> Program:
    """Return a program of a choice at random sizes.

    Raises:
        InputError: it cannot be measured, or does what a test kernel does and was not named.
    """
    program = sized(name, dice, choice.work, chosen_of(name, choice.function))
    if name not in choice.names and is_held_out(name, program):
        raise InputError(f"{name}: does what a test kernel does")
    return program


def _case(choice: Choice, name: str, program: Program) -> Case:
    cuts, plan = str(program.splitting), str(program.storage)
    function = chosen_of(name, choice.function) or ""
    return Case(_short(name), program.parameters, cuts, plan, function)


def sized(
    name: str,
    dice: np.random.Generator,
    bounds: tuple[float, float] = (LEAST_WORK, MOST_WORK),
    function: str | None = None,
) -> Program:
    """Return a program at random sizes, with so much to do at least and at most.

    Raises:
        InputError: it makes no sense at any that were tried, or does too much at all of them.
    """
    usual = load_program(name, function=function, dataset=Dataset.MEDIUM)
    sizes = dict(usual.parameters)
    least, most = bounds
    wanted = exp(dice.uniform(log(least), log(most)))
    factor = _factor(usual, sizes, wanted)
    changes = np.exp(dice.uniform(-_JITTER, _JITTER, len(sizes)))
    given = {
        size: max(_LEAST_SIZE, round(value * factor * change))
        for (size, value), change in zip(sizes.items(), changes, strict=True)
        if value > _LEAST_SIZE
    }
    found = load_program(name, function=function, dataset=Dataset.MEDIUM, parameters=given)
    if work(found, dict(found.parameters)) > 4 * most:
        raise InputError(f"{name}: too much to do at sizes of {given}")
    return found


def _short(name: str) -> str:
    """Return what a program is called in a corpus, which may be read where its file is not."""
    return Path(name).name if is_path(name) else name


def _text(name: str) -> str:
    """Return the source of a program that is a file."""
    if not is_path(name):
        return ""
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: cannot be read: {error}") from None


def work(program: Program, sizes: dict[str, int]) -> float:
    """Return how many operations the original order does."""
    found = reach(program.scop, own_sizes(program.scop, sizes))
    return float(sum(one.instances * one.operations for one in found))


def _factor(program: Program, sizes: dict[str, int], wanted: float) -> float:
    """Return by what to multiply all sizes, roughly, for so much work."""
    low, high = 0.02, 8.0
    depth = max(1, program.scop.depth)
    now = max(1.0, work(program, sizes))
    return float(min(high, max(low, (wanted / now) ** (1 / depth))))
