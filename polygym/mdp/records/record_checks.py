"""The entries of a JSON document, read one by one; a wrong one is refused by its place.

A document names its parts by keys. :class:`JsonEntries` is one object of it with the way to it, so
that a message says the file, the entry (``program.parameters.n``), what was expected and what was
found.

Every entry of a record is checked before anything is loaded or played. An entry that no step of a
replay needs (the environment, its arguments, the outcome) is checked like the others: a caller that
edits it would otherwise believe that it counts. What a record says twice (the arguments of the
environment, and what came of them for this program) it has to say alike.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, TypeVar

from polybench import Dataset
from polygym.errors import InputError
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mapping.mapping import parse_mapping
from polygym.mdp.env_ids import ENVIRONMENT_IDS, OPTIMIZE, SCHEDULE, TRANSFORM
from polygym.mdp.mapping_decisions import QUESTIONS_VERSION
from polygym.mdp.problems import arguments, loading
from polygym.mdp.problems.arguments import check_evaluation_options
from polygym.mdp.problems.loading import ProgramSource
from polygym.mdp.task_options import (
    MOST_COEFFICIENT,
    MappingDecisions,
    Phase,
    TaskOptions,
    TransformOptions,
)
from polygym.mdp.transforming import STEPS_VERSION
from polygym.poly.scheduling.strategy import ScheduleStrategy
from polygym.poly.spaces.polyhedra import SpaceLimits
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, parse_splitting
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, parse_storage
from polygym.runtime.evaluation import EvaluationOptions
from polygym.runtime.worker.outcome import OutcomeStatus

LARGEST_INTEGER = 2**63 - 1

_VERSION = re.compile(
    r"[0-9]{1,9}(\.[0-9]{1,9}){1,4}([.+]?(a|b|rc|dev|post)[0-9]{1,9})*(\+[\w.]{1,60})?"
)


@dataclass(frozen=True, slots=True)
class JsonEntries:
    """An object of a document; ``path`` leads to it, "" to the whole."""

    file: str
    path: str
    entries: Mapping[str, Any]

    def entry(self, key: str) -> Any:
        """Return an entry as it is."""
        if key not in self.entries:
            raise InputError(f"{self.file}: the entry {self.path_of(key)} is missing")
        return self.entries[key]

    def object_at(self, key: str) -> JsonEntries:
        """Return an object in the object."""
        result = self.entry(key)
        if not isinstance(result, dict):
            raise self.error_at(key, "an object")
        return JsonEntries(self.file, self.path_of(key), result)

    def objects_at(self, key: str) -> JsonEntries:
        """Return a list in the object, by position."""
        result = self.entry(key)
        if not isinstance(result, list):
            raise self.error_at(key, "a list")
        return JsonEntries(
            self.file, self.path_of(key), {str(i): item for i, item in enumerate(result)}
        )

    def text(self, key: str) -> str:
        """Return a text."""
        result = self.entry(key)
        if not isinstance(result, str):
            raise self.error_at(key, "a text")
        return result

    def version(self, key: str) -> str:
        """Return the version of a program, such as 0.3.0 or 0.3.0.dev0."""
        result = self.text(key)
        if not _VERSION.fullmatch(result):
            raise self.error_at(key, "a version such as 0.3.0")
        return result

    def one_of(self, key: str, known: Collection[str]) -> str:
        """Return a text that is one of several."""
        result = self.text(key)
        if result not in known:
            raise self.error_at(key, f"one of {', '.join(known)}")
        return result

    def integer(self, key: str, least: int = 0, most: int = LARGEST_INTEGER) -> int:
        """Return an integer within bounds."""
        result = self.entry(key)
        if type(result) is not int or not least <= result <= most:
            raise self.error_at(key, f"an integer from {least} to {most}")
        return result

    def number(self, key: str) -> float:
        """Return a time or a ratio: finite and not negative."""
        result = self.entry(key)
        if isinstance(result, bool) or not isinstance(result, int | float):
            raise self.error_at(key, "a number")
        # A JSON document may hold integers that no float can be compared with.
        if not 0 <= result <= LARGEST_INTEGER or not isfinite(result):
            raise self.error_at(key, "a finite number from 0 on")
        return float(result)

    def check_keys(self, known: Collection[str]) -> None:
        """Refuse entries of which nobody would take notice."""
        for key in self.entries:
            if key not in known:
                raise InputError(
                    f"{self.file}: the entry {self.path_of(reprlib.repr(key)[1:-1])} is unknown; "
                    f"expected {', '.join(known)}"
                )

    def error_at(self, key: str, expected: str) -> InputError:
        """Return the error about an entry."""
        result = reprlib.repr(self.entries[key])
        return InputError(
            f"{self.file}: the entry {self.path_of(key)}: expected {expected}, found {result}"
        )

    def path_of(self, key: str) -> str:
        """Return the way to an entry."""
        return f"{self.path}.{key}" if self.path else key


_RECORD_KEYS = (
    "format", "version", "polygym", "environment", "arguments", "program", "process", "actions",
    "phase", "schedule", "outcome",
)  # fmt: skip
# Those of a line of a search's journal.
_SEARCH_KEYS = ("index", "stage", "source", "mapping", "repeats", "reason")
_PROGRAM_KEYS = ("target", "file", "function", "dataset", "parameters", "sha256")
_PROCESS_KEYS = ("max_coefficient", "max_dimensions", "max_rays", "max_vertices", "seed")
_OUTCOME_KEYS = (
    "schedule", "status", "speedup", "seconds", "baseline_seconds", "samples", "baseline_samples",
    "error_type", "error_details", "mapping", "applied_mapping",
    "canonical_key", "parameters",
)  # fmt: skip

# The arguments that only the environment has in which mappings are decided; a record says that no
# schedule may be adopted, or nothing about it.
START_KEY, ADOPT_KEY = "start", "adopt"

# Where statements are cut and values are kept: of a program, or as an episode decides it, which its
# arguments say.
SPLITTING_KEY, STORAGE_KEY, STORAGE_LIMIT_KEY = "splitting", "storage", "storage_limit"

# The version of the questions about a mapping, of the process where one is decided.
QUESTIONS_KEY = "questions"

# Of the process that transforms a program: the version of the list of steps, the steps that lead to
# the result, and its arguments.
STEPS_KEY, MOST_STEPS_KEY, MOST_ACTIONS_KEY = "steps", "max_steps", "max_actions"

# The way to the C file from the folder of the record; those of a search's result have it.
RELATIVE_FILE_KEY = "relative_file"

# The phase of a record about a schedule that no episode led to.
GIVEN_PHASE = "given"

_TRANSFORM_KEYS = (START_KEY, MOST_STEPS_KEY, MOST_ACTIONS_KEY, STORAGE_LIMIT_KEY)

T = TypeVar("T")

_MOST_GENERATORS = 100_000
_DATASETS = tuple(dataset.name.lower() for dataset in Dataset)


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """A record's entries.

    ``file`` and ``digest`` are of the C file, ``relative_file`` is the way to it from the folder of
    the record, if that says so; ``measured_for`` has the sizes of the outcome, None
    where there is no outcome. ``phase`` is None where the schedule is given, without an episode.
    ``measured_under`` is the mapping of the outcome where the episode decides it;
    ``storage_decisions`` says where it decides to cut and to keep values, where it does.
    """

    source: ProgramSource
    file: str
    digest: str
    options: TaskOptions
    evaluation_options: EvaluationOptions
    actions: tuple[int, ...]
    phase: Phase | None
    schedule: str
    measured_for: Mapping[str, int] | None
    measured_under: MachineMapping | None = None
    storage_decisions: Mapping[str, str] = field(default_factory=dict)
    relative_file: str | None = None


def check_record(record: Mapping[str, Any], name: str) -> CheckedRecord:
    """Return what a record says; ``name`` is its file's, for messages."""
    whole = JsonEntries(name, "", record)
    whole.version("polygym")
    environment = whole.one_of("environment", ENVIRONMENT_IDS)
    transforms = environment == TRANSFORM
    decides = environment == OPTIMIZE
    maps = decides or transforms
    program, process = whole.object_at("program"), whole.object_at("process")
    source = _source(program)
    limit = _storage_limit(whole.object_at("arguments"), environment, source)
    stores = () if limit is None else (STORAGE_KEY, STORAGE_LIMIT_KEY)
    variant_keys: tuple[str, ...] = () if limit is None else (SPLITTING_KEY, STORAGE_KEY)
    if transforms and STEPS_KEY in whole.entries:
        variant_keys = (SPLITTING_KEY, STORAGE_KEY, STEPS_KEY)
    whole.check_keys((*_RECORD_KEYS, *_SEARCH_KEYS, *variant_keys))
    versions = (QUESTIONS_KEY,) * decides + (STEPS_KEY,) * transforms
    options = replace(_options(process, versions), storage_limit=limit)
    more = (START_KEY, ADOPT_KEY) if decides else _TRANSFORM_KEYS * transforms
    measuring = _arguments(whole.object_at("arguments"), (*more, *stores))
    if decides:
        begins, adopts = _editing(whole.object_at("arguments"))
        _check_questions(process)
        decisions = MappingDecisions(measuring.mapping, begins, adopts)
        options = replace(options, mapping_decisions=decisions)
    if transforms:
        if process.integer(STEPS_KEY) != STEPS_VERSION:
            raise process.error_at(STEPS_KEY, f"{STEPS_VERSION}, the version of the steps")
        given = whole.object_at("arguments")
        options = replace(options, transformations=_transforming(given, measuring.mapping))
    _check_agreement(whole.object_at("arguments"), program, process)
    actions = whole.objects_at("actions")
    schedule = whole.text("schedule")
    phase = whole.one_of("phase", [*(known.value for known in Phase), GIVEN_PHASE])
    if phase == GIVEN_PHASE and actions.entries:
        raise whole.error_at("actions", "none, since the schedule is given")
    outcome = None if whole.entry("outcome") is None else whole.object_at("outcome")
    return CheckedRecord(
        source,
        program.text("file"),
        program.text("sha256"),
        options,
        measuring,
        tuple(actions.integer(key, 0, options.actions - 1) for key in actions.entries),
        None if phase == GIVEN_PHASE else Phase(phase),
        schedule,
        _outcome(outcome, schedule, None if maps else measuring.mapping) if outcome else None,
        _mapping(outcome, "mapping") if outcome and maps else None,
        {name: whole.text(name) for name in variant_keys},
        program.text(RELATIVE_FILE_KEY) if RELATIVE_FILE_KEY in program.entries else None,
    )


def _storage_limit(given: JsonEntries, environment: str, source: ProgramSource) -> int | None:
    """Return how many bytes may be taken where it is decided where values are kept; else None."""
    if environment not in (OPTIMIZE, SCHEDULE) or STORAGE_KEY not in given.entries:
        return None
    if given.entry(STORAGE_KEY) is not True:
        raise given.error_at(STORAGE_KEY, "true, or no such entry")
    if not source.storage.is_source or source.splitting != NO_SPLITTING:
        raise given.error_at(STORAGE_KEY, "no such entry, since the program is changed already")
    return given.integer(STORAGE_LIMIT_KEY, 0, 2**62)


def _source(program: JsonEntries) -> ProgramSource:
    program.check_keys((*_PROGRAM_KEYS, SPLITTING_KEY, STORAGE_KEY, RELATIVE_FILE_KEY))
    function = None if program.entry("function") is None else program.text("function")
    return ProgramSource(
        program.text("target"),
        function,
        Dataset[program.one_of("dataset", _DATASETS).upper()],
        tuple(_sizes(program).items()),
        # Where a record does not say, nothing is cut and values are where the source has them.
        _parsed(program, SPLITTING_KEY, parse_splitting, NO_SPLITTING),
        _parsed(program, STORAGE_KEY, parse_storage, SOURCE_STORAGE),
    )


def _parsed(entries: JsonEntries, name: str, parse: Callable[[str], T], usual: T) -> T:
    return _parse(entries, name, parse) if name in entries.entries else usual


def _parse(entries: JsonEntries, name: str, parse: Callable[[str], T]) -> T:
    text = entries.text(name)
    try:
        return parse(text)
    except InputError as error:
        raise InputError(f"{entries.file}: the entry {entries.path_of(name)}: {error}") from None


def _sizes(of: JsonEntries) -> dict[str, int]:
    """Return the sizes in the entry ``parameters``."""
    sizes = of.object_at("parameters")
    return {key: sizes.integer(key, -LARGEST_INTEGER) for key in sizes.entries}


def _check_questions(process: JsonEntries) -> None:
    """Refuse answers to other questions about a mapping than those of this version."""
    if process.integer(QUESTIONS_KEY) != QUESTIONS_VERSION:
        raise process.error_at(QUESTIONS_KEY, f"{QUESTIONS_VERSION}, the version of the questions")


def _options(process: JsonEntries, more: tuple[str, ...]) -> TaskOptions:
    process.check_keys((*_PROCESS_KEYS, *more))
    limits = SpaceLimits(
        rays=process.integer("max_rays", 1, _MOST_GENERATORS),
        vertices=process.integer("max_vertices", 1, _MOST_GENERATORS),
        seed=process.integer("seed"),
    )
    coefficient = process.integer("max_coefficient", 1, MOST_COEFFICIENT)
    return TaskOptions(coefficient, process.integer("max_dimensions", 1, 32), limits)


def _editing(given: JsonEntries) -> tuple[ScheduleStrategy | None, bool]:
    """Return with what edits begin, and whether they may adopt a schedule."""
    try:
        return (
            arguments.check_start(given.entry(START_KEY)),
            arguments.check_switch(ADOPT_KEY, given.entries.get(ADOPT_KEY, True)),
        )
    except InputError as error:
        raise InputError(f"{given.file}: the entry arguments: {error}") from None


def _transforming(given: JsonEntries, mapping: MachineMapping) -> TransformOptions:
    """Return how a program is transformed."""
    try:
        return arguments.check_transform_options(
            mapping,
            arguments.check_start(given.entry(START_KEY)),
            given.entry(MOST_STEPS_KEY),
            given.entry(MOST_ACTIONS_KEY),
            given.entry(STORAGE_LIMIT_KEY),
        )
    except InputError as error:
        raise InputError(f"{given.file}: the entry arguments: {error}") from None


def _arguments(given: JsonEntries, more: tuple[str, ...] = ()) -> EvaluationOptions:
    """Return how to measure; the arguments are those of an environment, which may have more."""
    given.check_keys((*arguments.ARGUMENT_NAMES, *more))
    values = {key: given.entry(key) for key in arguments.ARGUMENT_NAMES}
    try:
        arguments.check_arguments(values)
        return check_evaluation_options(
            values["threads"], values["timeout_factor"], values["mapping"]
        )
    except InputError as error:
        raise InputError(f"{given.file}: the entry arguments: {error}") from None


def _check_agreement(given: JsonEntries, program: JsonEntries, process: JsonEntries) -> None:
    """Refuse arguments that say something else than what came of them."""
    twice = [(program, "dataset"), (program, "function")]
    twice += [(process, key) for key in _PROCESS_KEYS if key != "seed"]
    for of, key in twice:
        if given.entry(key) != of.entry(key):
            raise given.error_at(key, f"{of.entry(key)!r} as {of.path_of(key)} has it")
    sizes = program.object_at("parameters")
    for key, value in loading.parse_parameters(given.entry("parameters")):
        if key not in sizes.entries or value != sizes.entries[key]:
            size = sizes.entries.get(key, "none")
            raise given.error_at("parameters", f"{key} = {size} as {sizes.path_of(key)} has it")


def _outcome(
    outcome: JsonEntries, schedule: str, mapping: MachineMapping | None
) -> Mapping[str, int]:
    """Check what was measured, and return the sizes for which it was.

    It was measured under the mapping of the arguments, unless the episode decides it (None).
    """
    outcome.check_keys(_OUTCOME_KEYS)
    if outcome.text("schedule") != schedule:
        raise outcome.error_at("schedule", "the episode's schedule")
    outcome.one_of("status", [status.value for status in OutcomeStatus])
    for key in ("speedup", "seconds", "baseline_seconds"):
        outcome.number(key)
    for key in ("samples", "baseline_samples"):
        samples = outcome.objects_at(key)
        for position in samples.entries:
            samples.number(position)
    for key in ("error_type", "error_details"):
        outcome.text(key)
    if mapping is not None and _mapping(outcome, "mapping") != mapping:
        raise outcome.error_at("mapping", f"{str(mapping)!r} as the arguments have it")
    if outcome.entry("applied_mapping") is not None:
        _mapping(outcome, "applied_mapping")
    outcome.text("canonical_key")
    return _sizes(outcome)


def _mapping(outcome: JsonEntries, key: str) -> MachineMapping:
    return _parse(outcome, key, parse_mapping)
