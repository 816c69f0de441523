"""What a record says, every entry of it checked, before anything is loaded or played.

An entry that no step of a replay needs (the environment, its arguments, the outcome) is checked
like the others: whoever edits it would otherwise believe that it counts. What a record says twice
(the arguments of the environment, and what came of them for this program) it has to say alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from polybench import Dataset
from polygym.compiler.codegen.common.mapping import Mapping as MachineMapping
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.poly.spaces.polyhedra import Limits
from polygym.compiler.poly.splitting.cuts import WHOLE, Splitting, parse_splitting
from polygym.compiler.poly.strategy import Strategy
from polygym.compiler.storage.plan import KEEP, StoragePlan, parse_storage
from polygym.episodes import arguments, kernels
from polygym.episodes.arguments import evaluation_options
from polygym.episodes.decisions import VERSION as VERSION_OF_QUESTIONS
from polygym.episodes.entries import LARGEST_INTEGER, Entries
from polygym.episodes.ids import IDS, OPTIMIZE, SCHEDULE
from polygym.episodes.kernels import Source
from polygym.episodes.task_options import LARGEST_COEFFICIENT, Decides, Phase, TaskOptions
from polygym.errors import InputError
from polygym.measure.evaluation import EvaluationOptions
from polygym.measure.worker.outcome import Status

_WHOLE = (
    "format", "version", "polygym", "environment", "arguments", "program", "process", "actions",
    "phase", "schedule", "outcome",
)  # fmt: skip
# Those of a line of a search's journal.
_OF_A_SEARCH = ("index", "repeats", "reason")
_PROGRAM = ("target", "file", "function", "dataset", "parameters", "sha256")
_PROCESS = ("max_coefficient", "max_dimensions", "max_rays", "max_vertices", "seed")
_OUTCOME = (
    "schedule", "status", "speedup", "seconds", "baseline_seconds", "samples", "baseline_samples",
    "error_type", "error_details", "mapping", "done", "loops", "parameters",
)  # fmt: skip

# The argument that only the environment has in which mappings are decided.
START = "start"

# Where statements are cut and values are kept: of a program, or as an episode decides it, which its
# arguments say.
SPLITTING, STORAGE, STORAGE_LIMIT = "splitting", "storage", "storage_limit"

# The version of the questions about a mapping, of the process where one is decided; records from
# before there were two of them do not say.
QUESTIONS = "questions"

# The phase of a record about a schedule that no episode led to.
GIVEN = "given"

T = TypeVar("T")

_MOST_GENERATORS = 100_000
_DATASETS = tuple(one.name.lower() for one in Dataset)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record's entries.

    ``file`` and ``digest`` are of the C file; ``measured_for`` has the sizes of the outcome, None
    where there is no outcome. ``phase`` is None where the schedule is given, without an episode.
    ``measured_under`` is the mapping of the outcome where the episode decides it; ``homes`` says
    where it decides to cut and to keep values, where it does.
    """

    source: Source
    file: str
    digest: str
    options: TaskOptions
    measuring: EvaluationOptions
    actions: tuple[int, ...]
    phase: Phase | None
    schedule: str
    measured_for: Mapping[str, int] | None
    measured_under: MachineMapping | None = None
    homes: Mapping[str, str] = field(default_factory=dict)


def recorded(record: Mapping[str, Any], name: str) -> Recorded:
    """Return what a record says; ``name`` is its file's, for messages."""
    whole = Entries(name, "", record)
    whole.version("polygym")
    environment = whole.one_of("environment", IDS)
    decides = environment == OPTIMIZE
    program, process = whole.part("program"), whole.part("process")
    source = _source(program)
    limit = _storage_limit(whole.part("arguments"), environment, source)
    stores = () if limit is None else (STORAGE, STORAGE_LIMIT)
    homes = () if limit is None else (SPLITTING, STORAGE)
    whole.only((*_WHOLE, *_OF_A_SEARCH, *homes))
    options = replace(_options(process, (QUESTIONS,) if decides else ()), storage_limit=limit)
    more = (START,) if decides else ()
    measuring = _arguments(whole.part("arguments"), (*more, *stores))
    if decides:
        begins = _start(whole.part("arguments"))
        options = replace(options, decides=Decides(measuring.mapping, begins, _questions(process)))
    _agree(whole.part("arguments"), program, process)
    actions = whole.items("actions")
    schedule = whole.text("schedule")
    phase = whole.one_of("phase", [*(one.value for one in Phase), GIVEN])
    if phase == GIVEN and actions.values:
        raise whole.wrong("actions", "none, since the schedule is given")
    return Recorded(
        source,
        program.text("file"),
        program.text("sha256"),
        options,
        measuring,
        tuple(actions.integer(key, 0, options.actions - 1) for key in actions.values),
        None if phase == GIVEN else Phase(phase),
        schedule,
        None
        if whole.any("outcome") is None
        else _outcome(whole.part("outcome"), schedule, None if decides else measuring.mapping),
        _mapping(whole.part("outcome"), "mapping")
        if decides and whole.any("outcome") is not None
        else None,
        {name: whole.text(name) for name in homes},
    )


def _storage_limit(given: Entries, environment: str, source: Source) -> int | None:
    """Return how many bytes may be taken where it is decided where values are kept; else None."""
    if environment not in (OPTIMIZE, SCHEDULE) or STORAGE not in given.values:
        return None
    if given.any(STORAGE) is not True:
        raise given.wrong(STORAGE, "true, or no such entry")
    if not source.storage.keeps or source.splitting != WHOLE:
        raise given.wrong(STORAGE, "no such entry, since the program is changed already")
    return given.integer(STORAGE_LIMIT, 0, 2**62)


def _source(program: Entries) -> Source:
    program.only((*_PROGRAM, SPLITTING, STORAGE))
    function = None if program.any("function") is None else program.text("function")
    return Source(
        program.text("target"),
        function,
        Dataset[program.one_of("dataset", _DATASETS).upper()],
        tuple(_sizes(program).items()),
        _splitting(program),
        _plan(program),
    )


def _splitting(program: Entries) -> Splitting:
    """Return where statements are cut: nowhere if a record does not say."""
    return _parsed(program, SPLITTING, parse_splitting, WHOLE)


def _plan(program: Entries) -> StoragePlan:
    """Return where values are kept: as the source has it where the record does not say."""
    return _parsed(program, STORAGE, parse_storage, KEEP)


def _parsed(program: Entries, name: str, parse: Callable[[str], T], usual: T) -> T:
    if name not in program.values:
        return usual
    text = program.text(name)
    try:
        return parse(text)
    except InputError as error:
        raise InputError(f"{program.file}: the entry {program.place(name)}: {error}") from None


def _sizes(of: Entries) -> dict[str, int]:
    """Return the sizes in the entry ``parameters``."""
    sizes = of.part("parameters")
    return {key: sizes.integer(key, -LARGEST_INTEGER) for key in sizes.values}


def _questions(process: Entries) -> int:
    """Return the version of the questions about a mapping."""
    if QUESTIONS not in process.values:
        return 1
    return process.integer(QUESTIONS, 1, VERSION_OF_QUESTIONS)


def _options(process: Entries, more: tuple[str, ...]) -> TaskOptions:
    process.only((*_PROCESS, *more))
    limits = Limits(
        rays=process.integer("max_rays", 1, _MOST_GENERATORS),
        vertices=process.integer("max_vertices", 1, _MOST_GENERATORS),
        seed=process.integer("seed"),
    )
    return TaskOptions(
        process.integer("max_coefficient", 1, LARGEST_COEFFICIENT),
        process.integer("max_dimensions", 1, 32),
        limits,
    )


def _start(given: Entries) -> Strategy | None:
    try:
        return arguments.start(given.any(START))
    except InputError as error:
        raise InputError(f"{given.file}: the entry arguments: {error}") from None


def _arguments(given: Entries, more: tuple[str, ...] = ()) -> EvaluationOptions:
    """Return how to measure; the arguments are those of an environment, which may have more."""
    given.only((*arguments.NAMES, *more))
    values = {key: given.any(key) for key in arguments.NAMES}
    try:
        arguments.check(values)
        return evaluation_options(values["threads"], values["timeout_factor"], values["mapping"])
    except InputError as error:
        raise InputError(f"{given.file}: the entry arguments: {error}") from None


def _agree(given: Entries, program: Entries, process: Entries) -> None:
    """Refuse arguments that say something else than what came of them."""
    twice = [(program, "dataset"), (program, "function")]
    twice += [(process, key) for key in _PROCESS if key != "seed"]
    for of, key in twice:
        if given.any(key) != of.any(key):
            raise given.wrong(key, f"{of.any(key)!r} as {of.place(key)} has it")
    sizes = program.part("parameters")
    for key, value in kernels.parse_parameters(given.any("parameters")):
        if key not in sizes.values or value != sizes.values[key]:
            found = sizes.values.get(key, "none")
            raise given.wrong("parameters", f"{key} = {found} as {sizes.place(key)} has it")


def _outcome(outcome: Entries, schedule: str, mapping: MachineMapping | None) -> Mapping[str, int]:
    """Check what was measured, and return the sizes for which it was.

    It was measured under the mapping of the arguments, unless the episode decides it (None).
    """
    outcome.only(_OUTCOME)
    if outcome.text("schedule") != schedule:
        raise outcome.wrong("schedule", "the episode's schedule")
    outcome.one_of("status", [one.value for one in Status])
    for key in ("speedup", "seconds", "baseline_seconds"):
        outcome.number(key)
    for key in ("samples", "baseline_samples"):
        samples = outcome.items(key)
        for position in samples.values:
            samples.number(position)
    for key in ("error_type", "error_details"):
        outcome.text(key)
    if mapping is not None and _mapping(outcome, "mapping") != mapping:
        raise outcome.wrong("mapping", f"{str(mapping)!r} as the arguments have it")
    if outcome.values.get("done") is not None:  # older versions do not say
        _mapping(outcome, "done")
    if "loops" in outcome.values:
        outcome.text("loops")
    return _sizes(outcome)


def _mapping(outcome: Entries, key: str) -> MachineMapping:
    text = outcome.text(key)
    try:
        return parse_mapping(text)
    except InputError as error:
        raise InputError(f"{outcome.file}: the entry {outcome.place(key)}: {error}") from None
