"""Which programs an environment is about, and what is computed once for each of them.

A *selection* is a text: names of kernels, categories and globs over them (``gemm``, ``blas``,
``*mm``, ``all``), comprehensions of the library (``tc:matmul``), paths of C files and of ``.tc``
files (anything with a slash or such an ending, which may be a glob too), or several of these with
commas between. What is known of a program is kept for the process, so that environments that are
made later start at once; a file that has changed is read anew.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polybench
from polybench import Dataset
from polygym.compiler.frontend.tc.library import definition
from polygym.episodes.episode import Episode, Task, TaskOptions
from polygym.episodes.observe import Observer
from polygym.errors import InputError, SourceError
from polygym.lru import Memory
from polygym.programs import Program, is_path, load_program
from polygym.programs.comprehensions import PREFIX, comprehension_named


@dataclass(frozen=True, slots=True)
class Source:
    """What is needed to load a program: the target and the sizes."""

    target: str
    function: str | None
    dataset: Dataset
    parameters: tuple[tuple[str, int], ...]

    def load(self) -> Program:
        """Return the program."""
        return load_program(
            self.target,
            function=self.function,
            dataset=self.dataset,
            parameters=dict(self.parameters),
        )


@dataclass(eq=False)
class Subject:
    """A program to schedule, its processes, and the view of them."""

    source: Source
    options: TaskOptions

    @cached_property
    def _loaded(self) -> tuple[Program, Path, str]:
        """The program, its file, and the fingerprint of the text that it was read from."""
        program = self.source.load()
        path = Path(program.scop.file).absolute()
        return program, path, digest_of(path)

    @property
    def program(self) -> Program:
        """The program with its sizes and data."""
        return self._loaded[0]

    @property
    def file(self) -> str:
        """The full path of the source file, wherever the process has moved since."""
        return str(self._loaded[1])

    @property
    def digest(self) -> str:
        """A fingerprint of the source text; the file may change while the program is at work."""
        return self._loaded[2]

    @cached_property
    def task(self) -> Task:
        """The processes."""
        return Task(self.program.scop, self.options)

    @cached_property
    def openings(self) -> Memory[str, Episode]:
        """Episodes after what a policy without dice does first, by its name."""
        return Memory(8)

    @cached_property
    def observer(self) -> Observer:
        """The view."""
        return Observer(self.task)


def digest_of(path: Path) -> str:
    """Return a fingerprint of a file's text."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


_subjects: Memory[tuple[Source, TaskOptions, object], Subject] = Memory(64)


def subject(source: Source, options: TaskOptions) -> Subject:
    """Return what is known of a program, from memory if it has not changed."""
    return _subjects.get((source, options, _stamp(source.target)), lambda: Subject(source, options))


def load(subject: Subject) -> None:
    """Load a program; sizes that it does not have are refused by the argument's name.

    Elsewhere they are named as the command line has them.
    """
    try:
        _ = subject.program
    except SourceError:
        raise
    except InputError:
        wanted = [name for name, _ in subject.source.parameters]
        try:
            known = [name for name, _ in replace(subject.source, parameters=()).load().parameters]
        except InputError:
            known = wanted  # it is not the sizes' fault
        unknown = [name for name in wanted if name not in known]
        if not unknown:
            raise
        raise InputError(
            f"parameters: expected those of {subject.source.target}, "
            f"{', '.join(known) or '(none)'}, found {', '.join(unknown)}"
        ) from None


def targets(selection: str) -> tuple[str, ...]:
    """Return the kernels' names and the files' paths that a selection stands for.

    >>> targets("mvt, *mm")
    ('mvt', '2mm', '3mm', 'gemm', 'symm', 'trmm')
    """
    if not isinstance(selection, str):
        raise InputError(
            "kernel: expected a text (a kernel's name, a category, a glob, the path of a file, "
            "tc: and the name of a comprehension, or several with commas), found "
            f"{type(selection).__name__}"
        )
    found: dict[str, None] = {}
    for part in (part.strip() for part in selection.split(",")):
        if part:
            found.update(dict.fromkeys(_expand(part)))
    if not found:
        raise InputError(f"kernel: expected at least one kernel or file, found {selection!r}")
    return tuple(found)


def parse_parameters(given: Mapping[str, int] | str | None) -> tuple[tuple[str, int], ...]:
    """Return sizes given as a mapping or as a text such as ``n=100,m=200``.

    >>> parse_parameters("n=100, m=200")
    (('n', 100), ('m', 200))
    """
    if given is None or given == "":
        return ()
    if not isinstance(given, Mapping | str):
        raise InputError(
            'parameters: expected a mapping such as {"n": 100} or a text such as n=100,m=200, '
            f"found {given!r}"
        )
    pairs = given.items() if isinstance(given, Mapping) else _pairs(given)
    values = []
    for name, value in pairs:
        try:
            number = None if isinstance(value, bool) else int(value)
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is None or (number != value and str(number) != str(value).strip()):
            raise InputError(f"parameters: expected an integer for {name}, found {value!r}")
        values.append((str(name), number))
    return tuple(values)


def with_target(source: Source, target: str) -> Source:
    """Return the same sizes for another program."""
    return replace(source, target=target)


def dataset(name: str) -> Dataset:
    """Return the data set of that name."""
    try:
        return Dataset[str(name).upper()]
    except KeyError:
        names = ", ".join(one.name.lower() for one in Dataset)
        raise InputError(f"dataset: expected one of {names}, found {name!r}") from None


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise InputError(f"parameters: expected a text such as n=100,m=200, found {text!r}")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _expand(part: str) -> list[str]:
    if part.startswith(PREFIX):
        definition(part.removeprefix(PREFIX))
        return [part]
    if (is_path(part) and not _is_category(part)) or os.path.isfile(part):
        found = sorted(glob.glob(part)) if glob.has_magic(part) else [part]
        missing = [path for path in found if not os.path.isfile(path)]
        if missing or not found:
            raise InputError(f"kernel: expected the path of a file, found no file {part!r}")
        return found
    try:
        return [kernel.name for kernel in polybench.select((part,))]
    except KeyError as error:
        raise InputError(f"kernel: {comprehension_named(part) or error.args[0]}") from None


def _is_category(part: str) -> bool:
    try:
        return bool(polybench.select((part,)))
    except KeyError:
        return False


def _stamp(target: str) -> object:
    """Return what changes when a file does, or another takes its name; None without a file."""
    try:
        found = os.stat(target)
    except (OSError, ValueError):
        return None
    return os.path.abspath(target), found.st_ino, found.st_mtime_ns, found.st_size
