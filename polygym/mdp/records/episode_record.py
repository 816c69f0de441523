"""An episode as JSON, and back: what was asked for, which actions were taken, how it ended.

A record names the program and its sizes, the size of the processes, and every action (those of a
policy too), in the numbers of :mod:`polygym.mdp.episode`. Playing them again gives the same
episode wherever polygym is the same; the schedule that is written beside them says whether it did.

A record may also be of a schedule that was given, isl's for example: then there is nothing to play.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from polygym.errors import InputError, LimitError, SourceError
from polygym.frontend.c import with_extents
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags
from polygym.mdp.env_ids import OPTIMIZE, TRANSFORM
from polygym.mdp.episode import Episode
from polygym.mdp.mapping_decisions import QUESTIONS_VERSION
from polygym.mdp.problems.loading import ScheduleProblem, problem_of
from polygym.mdp.records import record_checks
from polygym.mdp.records.record_files import current_source
from polygym.mdp.task_options import Phase
from polygym.mdp.transforming import STEPS_VERSION
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation, EvaluationOptions
from polygym.version import __version__

FORMAT = "polygym episode"
VERSION = 2
_EXPECTED_RECORD = (
    f'an episode, {{"format": "{FORMAT}", ...}}, as export() and polygym optimize write it'
)

_EpisodeText: TypeAlias = tuple[list[int], str, str]
"""The actions, the phase, the schedule."""


class ReplayMismatchError(InputError):
    """The actions of a record no longer lead to what it says they do."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Replay:
    """An episode that was played again; ``episode`` is None where the schedule was given.

    ``is_source_changed`` says that the C file is another one now. ``measured_for`` has the sizes
    for which the record's outcome was measured, None where it has none.
    """

    problem: ScheduleProblem
    episode: Episode | None
    schedule: Schedule | None
    evaluation_options: EvaluationOptions
    is_source_changed: bool
    measured_for: Mapping[str, int] | None = None

    @property
    def program(self) -> Program:
        """The program of which the schedule is."""
        if self.episode is None:
            return self.problem.program
        return self.problem.program_of(self.episode)

    @property
    def is_comparable(self) -> bool:
        """Whether the record's times are of the sizes that the episode has."""
        sizes = dict(self.problem.program.parameters)
        return self.measured_for is None or dict(self.measured_for) == sizes


def record_of(
    environment: str,
    arguments: Mapping[str, Any],
    problem: ScheduleProblem,
    episode: Episode,
    evaluation: Evaluation | None,
) -> dict[str, Any]:
    """Return the record of an episode, finished or not."""
    written = (list(episode.actions), episode.phase.value, _schedule_text(episode))
    document = _document(environment, arguments, problem, written, evaluation)
    return document | storage_decisions_of(episode)


def storage_decisions_of(episode: Episode) -> dict[str, str]:
    """Return what an episode has decided of where values are kept, if it decides that."""
    if episode.stored_as is None:
        return {}
    splitting, storage = episode.stored_as
    decided = {
        record_checks.SPLITTING_KEY: str(splitting),
        record_checks.STORAGE_KEY: str(storage),
    }
    if episode.transform_state is not None:
        decided[record_checks.STEPS_KEY] = "; ".join(map(str, episode.transform_state.steps))
    return decided


def record_of_schedule(
    environment: str, arguments: Mapping[str, Any], subject: ScheduleProblem, evaluation: Evaluation
) -> dict[str, Any]:
    """Return the record of a schedule that no episode led to, as it was measured."""
    written: _EpisodeText = ([], record_checks.GIVEN_PHASE, str(evaluation.schedule))
    return _document(environment, arguments, subject, written, evaluation)


def _resolved_arguments(arguments: Mapping[str, Any], subject: ScheduleProblem) -> dict[str, Any]:
    """Return arguments with the strategy that an automatic start stood for, not to ask again."""
    options = subject.options
    decides = options.mapping_decisions or options.transformations
    if arguments.get(record_checks.START_KEY) is None or decides is None:
        return dict(arguments)
    return {**arguments, record_checks.START_KEY: str(subject.task.initial_strategy)}


def _document(
    environment: str,
    arguments: Mapping[str, Any],
    subject: ScheduleProblem,
    written: _EpisodeText,
    evaluation: Evaluation | None,
) -> dict[str, Any]:
    options, source = subject.options, subject.source
    cuts, plan = source.splitting, source.storage
    actions, phase, schedule = written
    return {
        "format": FORMAT,
        "version": VERSION,
        "polygym": __version__,
        "environment": environment,
        "arguments": _resolved_arguments(arguments, subject),
        "program": {
            "target": source.target,
            "file": subject.file,
            "function": source.function,
            "dataset": source.dataset.name.lower(),
            "parameters": dict(subject.program.parameters),
            "sha256": subject.source_digest,
            **({record_checks.SPLITTING_KEY: str(cuts)} if cuts.statements else {}),
            **({} if plan.is_source else {record_checks.STORAGE_KEY: str(plan)}),
        },
        "process": {
            "max_coefficient": options.max_coefficient,
            "max_dimensions": options.max_dimensions,
            "max_rays": options.limits.rays,
            "max_vertices": options.limits.vertices,
            "seed": options.limits.seed,
            **(_questions(subject) if environment == OPTIMIZE else {}),
            **({record_checks.STEPS_KEY: STEPS_VERSION} if environment == TRANSFORM else {}),
        },
        "actions": actions,
        "phase": phase,
        "schedule": schedule,
        "outcome": None if evaluation is None else outcome_entries(evaluation, subject),
    }


def _questions(subject: ScheduleProblem) -> dict[str, int]:
    """Return the version of the questions about a mapping, if it is decided."""
    decides = subject.options.mapping_decisions
    return {} if decides is None else {record_checks.QUESTIONS_KEY: QUESTIONS_VERSION}


def read_record(text: str, name: str) -> dict[str, Any]:
    """Return a record from a file's text."""
    return read_record_as(text, name, FORMAT, VERSION, _EXPECTED_RECORD)


def recorded_file(record: Mapping[str, Any]) -> str | None:
    """Return the C file of a record as it was, if the record says so."""
    program = record.get("program")
    file = program.get("file") if isinstance(program, Mapping) else None
    return file if isinstance(file, str) else None


def read_record_as(text: str, name: str, kind: str, version: int, expected: str) -> dict[str, Any]:
    """Return a record of a format and a version from a file's text; ``expected`` says which.

    Raises:
        InputError: it is none.
    """
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}: expected JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{name}: expected JSON: it is too deeply nested") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"{name}: expected JSON: {error}") from None
    if not isinstance(record, dict):
        raise InputError(f"{name}: expected {expected}")
    _expect(record, name, kind, version, expected)
    return record


def expect_format(record: Mapping[str, Any], name: str) -> None:
    """Refuse what is no record of an episode, or one of another version.

    Raises:
        InputError: says so.
    """
    _expect(record, name, FORMAT, VERSION, _EXPECTED_RECORD)


def _expect(record: Mapping[str, Any], name: str, kind: str, version: int, expected: str) -> None:
    if record.get("format") != kind:
        raise InputError(f"{name}: expected {expected}")
    if type(record.get("version")) is not int or record["version"] != version:
        raise InputError(
            f"{name}: expected version {version} of the format, found {record.get('version')!r}"
        )


def outcome_entries(evaluation: Evaluation, subject: ScheduleProblem) -> dict[str, Any]:
    """Return what was measured as JSON, with the sizes for which it was."""
    return {**evaluation.to_json(), "parameters": dict(subject.program.parameters)}


def replay_record(
    record: Mapping[str, Any],
    name: str,
    source_file: str | None = None,
    flags: CompileFlags = NO_FLAGS,
    folder: Path | None = None,
) -> Replay:
    """Play a record's actions again and compare what they lead to.

    ``name`` is what messages call the record; ``source_file`` is where its C file is now, if it has
    moved, ``flags`` are more of those that it is read with, ``folder`` is that of the record.
    """
    said = record_checks.check_record(record, name)
    source = current_source(said, name, folder, source_file)
    source = replace(source, function=with_extents(source.function, (), flags=flags))
    problem = problem_of(source, said.options)
    changed = problem.source_digest != said.digest
    because = "; the C file has changed since" if changed else ""
    _compare_sizes(said, problem, name, because)
    if said.phase is None:
        try:
            given = parse_schedule(said.schedule, problem.program.scop)
        except InputError as error:
            raise ReplayMismatchError(f"{name}: the schedule: {error}{because}") from None
        return Replay(problem, None, given, said.evaluation_options, changed, said.measured_for)
    episode = problem.task.start()
    for number, action in enumerate(said.actions, start=1):
        if episode.is_over:
            raise ReplayMismatchError(
                f"{name}: expected the episode to end with its last action, number "
                f"{len(said.actions)}, found its end before number {number}{because}"
            )
        episode = episode.after(action)
    if episode.phase is not said.phase:
        wanted, reached = said.phase.value, episode.phase.value
        raise ReplayMismatchError(
            f"{name}: expected the actions to end in {wanted!r}, found {reached!r}{because}"
        )
    decided = storage_decisions_of(episode)
    if said.storage_decisions and said.storage_decisions != decided:
        wanted = f"expected the actions to lead to {said.storage_decisions}, found {decided}"
        raise ReplayMismatchError(f"{name}: {wanted}{because}")
    if said.schedule != _schedule_text(episode):
        _compare(said.schedule, episode, name, because)
    schedule = episode.schedule() if episode.phase is Phase.COMPLETE and said.schedule else None
    measuring = said.evaluation_options
    if episode.mapping is not None:
        measuring = replace(measuring, mapping=episode.mapping)
        if said.measured_under not in (None, measuring.mapping):
            raise ReplayMismatchError(
                f"{name}: expected the actions to lead to the mapping {said.measured_under}, "
                f"under which the schedule was measured, found {measuring.mapping}{because}"
            )
    return Replay(problem, episode, schedule, measuring, changed, said.measured_for)


def _compare_sizes(
    record: record_checks.CheckedRecord, problem: ScheduleProblem, name: str, because: str
) -> None:
    """Refuse sizes that are not those of the program."""
    wanted = dict(record.source.parameters)
    try:
        sizes = dict(problem.program.parameters)
    except SourceError:  # begins with a place of its own
        raise
    except InputError as error:
        raise InputError(f"{name}: the program cannot be loaded: {error}") from None
    if sizes != wanted:
        raise ReplayMismatchError(
            f"{name}: expected the sizes {wanted}, found that the program has {sizes}{because}"
        )


def _schedule_text(episode: Episode) -> str:
    """Return the schedule of an episode, "" where there is none or its numbers are too large."""
    try:
        return str(episode.schedule()) if episode.phase is Phase.COMPLETE else ""
    except LimitError:
        return ""


def _compare(written: str, episode: Episode, name: str, because: str) -> None:
    """Refuse a schedule that is another one than the actions lead to."""
    if episode.phase is not Phase.COMPLETE:
        raise InputError(
            f"{name}: expected no schedule of an episode that is {episode.phase.value!r}, found one"
        )
    played = episode.schedule()
    if not written:
        raise InputError(f"{name}: expected the schedule {played}, found none")
    try:
        same = parse_schedule(written, episode.task.scop) == played
    except InputError:
        if not because:
            raise
        same = False
    if not same:
        raise ReplayMismatchError(
            f"{name}: expected the actions to lead to the schedule {written}, found {played}"
            f"{because}"
        )
