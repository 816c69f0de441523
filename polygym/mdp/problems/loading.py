"""Programs of an environment, and the results that are computed once for each of them.

A *selection* is a text that names programs, several with commas between and without those behind
a ``!`` (:mod:`polygym.programs.selection`). What is known of a program is kept for the process, so
that environments that are made later start at once; a file that has changed is read anew.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from polybench import Dataset
from polygym.errors import InputError, PolygymError, SourceError
from polygym.frontend.c.source.preprocessor import decode, included_files
from polygym.frontend.c.source.region_selection import parse_selection
from polygym.lru_cache import REMEMBERED_PROGRAMS, LruCache
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.episode import Episode, Task
from polygym.mdp.observation.schedule_observer import Observer
from polygym.mdp.task_options import TaskOptions
from polygym.pickling import pickle_by_name
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, StoragePlan
from polygym.programs import Program, load_program
from polygym.programs.generate import is_generated, source_of_name
from polygym.programs.selection import select_programs
from polygym.programs.sizes import parse_size, parse_sizes
from polygym.programs.stored_program import apply_splitting_to, with_storage_plan

if TYPE_CHECKING:
    from polygym.mdp.observation.decision_observer import DecisionObserver
    from polygym.mdp.observation.transform_observer import TransformObserver


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ProgramSource:
    """What loads a program: the target, the sizes, where statements are cut and values are kept."""

    target: str
    function: str | None
    dataset: Dataset
    parameters: tuple[tuple[str, int], ...]
    splitting: Splitting = NO_SPLITTING
    storage: StoragePlan = SOURCE_STORAGE

    def load(self) -> Program:
        """Return the program."""
        parameters = dict(self.parameters)
        program = load_program(
            self.target, function=self.function, dataset=self.dataset, parameters=parameters
        )
        program = apply_splitting_to(program, self.splitting)
        # A caller that chose the plan has looked at its price.
        is_source = self.storage.is_source
        return program if is_source else with_storage_plan(program, self.storage, sys.maxsize)


@dataclass(eq=False)
class ScheduleProblem:
    """A program to schedule, its processes, and the view of them."""

    source: ProgramSource
    options: TaskOptions
    # Episodes after what a policy without random search does first, by its name.
    initial_episodes: LruCache[str, Episode] = field(default_factory=lambda: LruCache(8))
    _stored_programs: LruCache[ProgramSource, Program] = field(default_factory=lambda: LruCache(64))
    _observers: LruCache[Task, Observer] = field(default_factory=lambda: LruCache(65))
    _decision_observers: LruCache[Task, DecisionObserver] = field(
        default_factory=lambda: LruCache(65)
    )
    _transform_observers: LruCache[Task, TransformObserver] = field(
        default_factory=lambda: LruCache(65)
    )

    @cached_property
    def _loaded(self) -> tuple[Program, str, str]:
        """The program, its file, and the fingerprint of the text that it was read from."""
        program, target = self.source.load(), self.source.target
        if is_generated(target):
            return program, target, hashlib.sha256(source_of_name(target).encode()).hexdigest()
        path = Path(program.scop.file).absolute()
        return program, str(path), source_digest(path, program.function)

    @property
    def program(self) -> Program:
        """The program with its sizes and data."""
        return self._loaded[0]

    @property
    def file(self) -> str:
        """The full path of the source file, wherever the process has moved since.

        A random program has none; then it is its name.
        """
        return self._loaded[1]

    @property
    def source_digest(self) -> str:
        """A fingerprint of the source text; the file may change while the program is at work."""
        return self._loaded[2]

    @cached_property
    def task(self) -> Task:
        """The processes."""
        sizes = scop_sizes(self.program.scop, dict(self.program.parameters))
        return Task(self.program.scop, self.options, sizes)

    def source_of(self, episode: Episode) -> ProgramSource:
        """Return what loads the program of which an episode's schedule is."""
        if episode.stored_as is None:
            return self.source
        splitting, storage = episode.stored_as
        if splitting == NO_SPLITTING and storage.is_source:
            return self.source
        return replace(self.source, splitting=splitting, storage=storage)

    def program_of(self, episode: Episode) -> Program:
        """Return the program of which an episode's schedule is."""
        source = self.source_of(episode)
        if source is self.source:
            return self.program
        return self._stored_programs.get(source, source.load)

    @property
    def observer(self) -> Observer:
        """The view."""
        return self._observer_of(self.task)

    def observer_of(self, episode: Episode) -> Observer:
        """Return the view of the program of which an episode's schedule is."""
        return self._observer_of(episode.task)

    def decision_observer_of(self, episode: Episode) -> DecisionObserver:
        """Return the view of who decides a mapping as well."""
        from polygym.mdp.observation.decision_observer import DecisionObserver

        task = episode.task
        return self._decision_observers.get(task, partial(DecisionObserver, task))

    def transform_observer_of(self, episode: Episode) -> TransformObserver:
        """Return the view of who transforms the program."""
        from polygym.mdp.observation.transform_observer import TransformObserver

        task = episode.task
        return self._transform_observers.get(task, partial(TransformObserver, task))

    def _observer_of(self, task: Task) -> Observer:
        return self._observers.get(task, partial(Observer, task))


def source_digest(path: Path, function: str | None = None) -> str:
    """Return a fingerprint of a file's text, and of the texts of the files that it includes.

    It does not depend on where the files are. ``function``, the choice of a region, has the flags
    that the file is read with.

    Raises:
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    result = hashlib.sha256(data)
    if path.suffix != ".tc":
        with suppress(PolygymError):  # a caller that reads the program says so
            flags = parse_selection(function).flags
            for file in included_files(decode(data, str(path)), str(path), flags):
                result.update(Path(file).read_bytes())
    return result.hexdigest()


_problems: LruCache[tuple[ProgramSource, TaskOptions, object], ScheduleProblem] = LruCache(
    REMEMBERED_PROGRAMS
)


def problem_of(source: ProgramSource, options: TaskOptions) -> ScheduleProblem:
    """Return what is known of a program, from memory if it has not changed."""
    return _problems.get(
        (source, options, _file_stamp(source.target)), lambda: ScheduleProblem(source, options)
    )


def load_problem(subject: ScheduleProblem) -> None:
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


def program_targets(selection: str) -> tuple[str, ...]:
    """Return the kernels' names and the files' paths that a selection stands for.

    >>> program_targets("all, !stencils, !linear-algebra/*")
    ('correlation', 'covariance', 'deriche', 'floyd-warshall', 'nussinov')
    """
    if not isinstance(selection, str):
        raise InputError(
            "kernel: expected a text (a kernel's name, a category, a glob, the path of a file, "
            "tc: and the name of a comprehension, or several with commas; behind ! what is "
            f"excluded), found {type(selection).__name__}"
        )
    return select_programs([selection])


def parse_parameters(given: Mapping[str, int] | str | None) -> tuple[tuple[str, int], ...]:
    """Return sizes given as a mapping or as a text such as ``n=100,m=200``.

    The text is that of ``--parameters`` on the command line.

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
    if isinstance(given, str):
        try:
            return tuple(parse_sizes(given).items())
        except InputError as error:
            raise InputError(f"parameters: {error}") from None
    return tuple((str(name), _parse_size(name, value)) for name, value in given.items())


def _parse_size(name: object, value: object) -> int:
    """Return a size given as a number, or as the text of one."""
    try:
        if isinstance(value, str):
            number = parse_size(value)
        else:
            number = None if isinstance(value, bool) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not (isinstance(value, str) or number == value):
        raise InputError(f"parameters: expected an integer for {name}, found {value!r}")
    return int(number)


def with_target(source: ProgramSource, target: str) -> ProgramSource:
    """Return the same sizes for another program."""
    return replace(source, target=target)


def dataset_named(name: str) -> Dataset:
    """Return the data set of that name."""
    try:
        return Dataset[str(name).upper()]
    except KeyError:
        names = ", ".join(dataset.name.lower() for dataset in Dataset)
        raise InputError(f"dataset: expected one of {names}, found {name!r}") from None


def _file_stamp(target: str) -> object:
    """Return what changes when a file does, or another takes its name; None without a file."""
    try:
        result = os.stat(target)
    except (OSError, ValueError):
        return None
    return os.path.abspath(target), result.st_ino, result.st_mtime_ns, result.st_size
