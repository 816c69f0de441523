"""Choice of a visit's program and sizes, from the seed and its number alone.

Programs come in three kinds, each with its share: kernels of the suite, comprehensions of the
library, random programs, each of which is another one. Ten kernels are there to test what is
learned, and are never taken by themselves, nor what does the same
(:mod:`polygym.search.corpus.program_choice`).

A name such as ``scalars:*`` stands for any random program of its kind, another one in each visit.

Visits may come in threes, of one program at the same sizes in its *storage variants*
(:mod:`polygym.autoschedule.storage_choice`): as it was written, expanded, and private to threads,
or cut. Each storage variant is a case of its own; models compare what was measured in all three
(:mod:`polygym.search.corpus.samples`). A program that has nothing to choose from is replaced by the
next that the random choices say.

Sizes are drawn so that the original order has to do about as many operations as random policies
say, between
:data:`MIN_OPERATIONS` and :data:`MAX_OPERATIONS`, any order of magnitude as likely as another:
first one factor for all usual sizes, then each size a little larger or smaller. What comes to four
times the most is drawn again; a program whose sizes have their bounds may do less than the least.
What is larger than caches is among them, and what takes long is not, unless a choice has other
bounds (:attr:`ProgramChoice.operations`): a corpus of many candidates says more than one of few.

Held out are ten test kernels and equivalent programs; nothing is learned from them. The programs of
the held-out split are refused even by name.

A random program or a user's file may do what a test kernel does under other names. So a program is
held out if its name is a test kernel's, or one of its nests has a body
(:mod:`polygym.cost.features.programs.canonical_bodies`) that a test kernel has and none of the
other kernels: what those have is learned from anyway. Example: a file with lu's loops is held out,
the loop k inside or outside, and so is a random program that begins with a rank-one update of a
triangle as in trmm, its sums in scalars or not; one with a product of a matrix and a vector, as in
gemver and in atax, is not. Of lu alone the loops in which a scalar holds the sums are those of
another kernel, ludcmp, which is learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, inf, log
from pathlib import Path

import numpy as np

import polybench
from polybench import Dataset
from polygym.autoschedule.program_recipes import UNCHANGED, ProgramRecipe
from polygym.autoschedule.storage_choice import MOST_VARIANTS, storage_variants_of
from polygym.cost.features.programs.canonical_bodies import CanonicalBody, canonical_bodies
from polygym.cost.features.statements.statement_work import work_of_statements
from polygym.errors import InputError, PolygymError
from polygym.frontend.tc import library
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.programs import Program, is_path, load_program
from polygym.programs.comprehensions import PREFIX as COMPREHENSION
from polygym.programs.generate import PREFIX as RANDOM
from polygym.programs.generate import is_wildcard, sample_name
from polygym.programs.selection import (
    expect_files,
    function_for,
    is_reserved_for_tests,
    select_programs,
)
from polygym.search.corpus.rows import CorpusCase

MIN_OPERATIONS, MAX_OPERATIONS = 3e5, 1e8
_SHARES = (("random", 0.6), ("kernels", 0.25), ("comprehensions", 0.15))
_JITTER = 0.35
_ATTEMPTS = 12
_MIN_SIZE = 4


@dataclass(frozen=True, slots=True)
class ProgramChoice:
    """What visits choose from: names, or, where there are none, the usual kinds.

    ``operation_count`` are the least and the most operations of the original order. ``function``
    chooses the region of every file among the names, with the sizes that are given beside it.
    """

    names: tuple[str, ...] = ()
    operations: tuple[float, float] = (MIN_OPERATIONS, MAX_OPERATIONS)
    function: str | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing."""
        least, most = self.operations
        if not 1 <= least <= most < inf:
            raise InputError(f"work: expected 1 <= least <= most, found {least:g} and {most:g}")
        expect_files(self.names, self.function)

    @staticmethod
    def of(
        patterns: Sequence[str],
        work: tuple[float, float] = (MIN_OPERATIONS, MAX_OPERATIONS),
        function: str | None = None,
    ) -> ProgramChoice:
        """Return what patterns name; none stand for the usual kinds.

        Raises:
            InputError: a pattern names nothing, or what is for tests alone, or a function is of no
                file.
        """
        texts = [part for text in patterns for part in _pattern_texts(text)]
        kinds = tuple(dict.fromkeys(filter(is_wildcard, texts)))
        named = [text for text in texts if not is_wildcard(text)]
        names = (*kinds, *(select_programs(named) if named else ()))
        for name in filter(is_reserved_for_tests, names):
            raise InputError(
                f"{name}: expected a program to learn from, found one of the held-out split"
            )
        return ProgramChoice(names, work, function)

    def program(self, rng: np.random.Generator) -> str:
        """Return the name of a program."""

        def roll(below: int) -> int:
            return int(rng.integers(below))

        if self.names:
            name = self.names[roll(len(self.names))]
            return sample_name(name, roll) if is_wildcard(name) else name
        shares = [share for _, share in _SHARES]
        match _SHARES[int(rng.choice(len(shares), p=shares))][0]:
            case "random":
                return sample_name(RANDOM, roll)
            case "kernels":
                every = (kernel.name for kernel in polybench.KERNELS)
                names = [name for name in every if name not in TEST_KERNELS]
            case _:
                names = [f"{COMPREHENSION}{name}" for name in library.definitions()]
        return names[int(rng.integers(len(names)))]


DEFAULT_CHOICE = ProgramChoice()
"""All kinds of programs."""


def _pattern_texts(text: str) -> list[str]:
    """Return the patterns of a text in which kinds of random programs stand, else the text.

    >>> _pattern_texts("scalars:*, mvt"), _pattern_texts("mvt, gemm")
    (['scalars:*', 'mvt'], ['mvt, gemm'])
    """
    parts = [part.strip() for part in text.split(",")]
    return parts if any(map(is_wildcard, parts)) else [text]


@dataclass(frozen=True, slots=True)
class ChosenProgram:
    """What a visit is of: a program at sizes, as a case, and the text of a user's file.

    ``is_empty`` says that it is there to be counted alone: the program has fewer storage variants.
    """

    program: Program
    case: CorpusCase
    text: str
    is_empty: bool = False


def choose_program(
    choice: ProgramChoice,
    seed: int,
    number: int,
    recipe: ProgramRecipe = UNCHANGED,
    mapping: Mapping = DEFAULT_MAPPING,
) -> ChosenProgram:
    """Return what a visit is of.

    What cannot be read, is far too large at all sizes, or does what a test kernel does though
    nobody asked for it, is replaced by the next that the random choices say.
    """
    rng = np.random.default_rng([seed, number])
    for _ in range(_ATTEMPTS):
        name = choice.program(rng)
        try:
            program = recipe.apply(_sample_program(choice, name, rng), mapping)
            return ChosenProgram(program, _case(choice, name, program), _text(name))
        except PolygymError as error:
            last = error
    raise InputError(f"no program among the first {_ATTEMPTS} can be measured; the last: {last}")


def choose_variant(
    choice: ProgramChoice, seed: int, number: int, limit: int, mapping: Mapping = DEFAULT_MAPPING
) -> ChosenProgram:
    """Return the program of a visit where visits come in threes: one of its storage variants.

    Where it has fewer than three, the last is empty. What :func:`choose_program` would replace, and
    what has nothing to choose from, is replaced by the next that the random choices say.
    """
    name, variants = _program_variants(choice, seed, number // MOST_VARIANTS, limit, mapping)
    place = number % MOST_VARIANTS
    program = variants[place] if place < len(variants) else variants[0]
    return ChosenProgram(program, _case(choice, name, program), _text(name), place >= len(variants))


@lru_cache(maxsize=1)
def _program_variants(
    choice: ProgramChoice, seed: int, number: int, limit: int, mapping: Mapping
) -> tuple[str, tuple[Program, ...]]:
    """Return a program by its name, and in its storage variants; three visits want to know it."""
    rng = np.random.default_rng([seed, number])
    for _ in range(_ATTEMPTS):
        name = choice.program(rng)
        try:
            variants = storage_variants_of(_sample_program(choice, name, rng), mapping, limit)
            if len(variants) > 1:
                return name, variants
            last = f"{name}: is kept as it was written, there is nothing to choose from"
        except PolygymError as error:
            last = str(error)
    raise InputError(
        f"no program among the first {_ATTEMPTS} has storage variants; the last: {last}"
    )


def _sample_program(choice: ProgramChoice, name: str, rng: np.random.Generator) -> Program:
    """Return a program of a choice at random sizes.

    Raises:
        InputError: it cannot be measured, or does what a test kernel does and was not named.
    """
    program = sample_sizes(name, rng, choice.operations, function_for(name, choice.function))
    if name not in choice.names and is_held_out(name, program):
        raise InputError(f"{name}: does what a test kernel does")
    return program


def _case(choice: ProgramChoice, name: str, program: Program) -> CorpusCase:
    cuts, plan = str(program.splitting), str(program.storage)
    function = function_for(name, choice.function) or ""
    return CorpusCase(_short(name), program.parameters, cuts, plan, function)


def sample_sizes(
    name: str,
    rng: np.random.Generator,
    bounds: tuple[float, float] = (MIN_OPERATIONS, MAX_OPERATIONS),
    function: str | None = None,
) -> Program:
    """Return a program at random sizes, with so much to do at least and at most.

    Raises:
        InputError: it makes no sense at any that were tried, or does too much at all of them.
    """
    usual = load_program(name, function=function, dataset=Dataset.MEDIUM)
    sizes = dict(usual.parameters)
    least, most = bounds
    wanted = exp(rng.uniform(log(least), log(most)))
    factor = _factor(usual, sizes, wanted)
    changes = np.exp(rng.uniform(-_JITTER, _JITTER, len(sizes)))
    given = {
        size: max(_MIN_SIZE, round(value * factor * change))
        for (size, value), change in zip(sizes.items(), changes, strict=True)
        if value > _MIN_SIZE
    }
    program = load_program(name, function=function, dataset=Dataset.MEDIUM, parameters=given)
    if operation_count(program, dict(program.parameters)) > 4 * most:
        raise InputError(f"{name}: too much to do at sizes of {given}")
    return program


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


def operation_count(program: Program, sizes: dict[str, int]) -> float:
    """Return how many operations the original order does."""
    works = work_of_statements(program.scop, scop_sizes(program.scop, sizes))
    return float(sum(work.instances * work.operations for work in works))


def _factor(program: Program, sizes: dict[str, int], wanted: float) -> float:
    """Return by what to multiply all sizes, roughly, for so much work."""
    low, high = 0.02, 8.0
    depth = max(1, program.scop.depth)
    now = max(1.0, operation_count(program, sizes))
    return float(min(high, max(low, (wanted / now) ** (1 / depth))))


TEST_KERNELS = (
    "syr2k", "trmm", "gemver", "bicg", "lu", "gramschmidt", "adi", "jacobi-2d", "nussinov",
    "covariance",
)  # fmt: skip
"""What is learned is tested on these, so nothing is learned from them."""


def is_held_out(name: str, program: Program) -> bool:
    """Whether nothing is to be learned from a program; one out of isl's reach is not learned from.

    ``name`` is what it is called in a corpus, or by its user.
    """
    if is_reserved_for_tests(name):
        return True
    try:
        return bool(equivalent_kernels(name, program))
    except PolygymError:
        return True


def equivalent_kernels(name: str, program: Program) -> tuple[str, ...]:
    """Return the test kernels that a program is by its name, or that do what one of its nests does.

    Raises:
        LimitError: isl would take too long.
    """
    if name in TEST_KERNELS:
        return (name,)
    result = set()
    for follows in (False, True):
        own = canonical_bodies(program, forwards_scalars=follows)
        result |= {
            kernel for kernel, every in _own_bodies(follows).items() if not every.isdisjoint(own)
        }
    return tuple(literal for literal in TEST_KERNELS if literal in result)


@cache
def _own_bodies(follows: bool) -> dict[str, frozenset[CanonicalBody]]:
    """Return of each test kernel the bodies that none of the other kernels has.

    As written, lu has bodies of its own, but not where scalars are followed: ludcmp has them then.
    """
    others = [kernel.name for kernel in polybench.KERNELS if kernel.name not in TEST_KERNELS]
    learned = frozenset().union(*(_bodies_of(name, follows) for name in others))
    return {name: _bodies_of(name, follows) - learned for name in TEST_KERNELS}


def _bodies_of(name: str, follows: bool) -> frozenset[CanonicalBody]:
    return canonical_bodies(load_program(name), forwards_scalars=follows)
