"""An episode as JSON, and back: what was asked for, which actions were taken, how it ended.

A record names the program and its sizes, the size of the processes, and every action (those of a
policy too), in the numbers of :mod:`polygym.episodes.episode`. Playing them again gives the same
episode wherever polygym is the same; the schedule that is written beside them says whether it did.

A record may also be of a schedule that was given, isl's for example: then there is nothing to play.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from polygym.compiler.poly.schedule import Schedule, parse
from polygym.episodes.episode import Episode
from polygym.episodes.ids import OPTIMIZE
from polygym.episodes.kernels import Subject, subject
from polygym.episodes.recorded import (
    GIVEN,
    QUESTIONS,
    SPLITTING,
    START,
    STORAGE,
    Recorded,
    recorded,
)
from polygym.episodes.task_options import Phase
from polygym.errors import InputError, LimitError, SourceError
from polygym.measure.evaluation import Evaluation, EvaluationOptions
from polygym.pickles import pickled_by_name
from polygym.programs import Program, is_path
from polygym.version import __version__

FORMAT = "polygym episode"
VERSION = 2
_EXPECTED = f'an episode, {{"format": "{FORMAT}", ...}}, as export() and polygym optimize write it'

_Written: TypeAlias = tuple[list[int], str, str]
"""The actions, the phase, the schedule."""


class NoLongerError(InputError):
    """The actions of a record no longer lead to what it says they do."""


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Replay:
    """An episode that was played again; ``episode`` is None where the schedule was given.

    ``changed`` says that the C file is another one now. ``measured_for`` has the sizes for which
    the record's outcome was measured, None where it has none.
    """

    subject: Subject
    episode: Episode | None
    schedule: Schedule | None
    measuring: EvaluationOptions
    changed: bool
    measured_for: Mapping[str, int] | None = None

    @property
    def program(self) -> Program:
        """The program of which the schedule is."""
        if self.episode is None:
            return self.subject.program
        return self.subject.program_of(self.episode)

    @property
    def is_comparable(self) -> bool:
        """Whether the record's times are of the sizes that the episode has."""
        sizes = dict(self.subject.program.parameters)
        return self.measured_for is None or dict(self.measured_for) == sizes


def of(
    environment: str,
    arguments: Mapping[str, Any],
    subject: Subject,
    episode: Episode,
    evaluation: Evaluation | None,
) -> dict[str, Any]:
    """Return the record of an episode, finished or not."""
    written = (list(episode.actions), episode.phase.value, _schedule_text(episode))
    document = _document(environment, arguments, subject, written, evaluation)
    return document | homes_of(episode)


def homes_of(episode: Episode) -> dict[str, str]:
    """Return what an episode has decided of where values are kept, if it decides that."""
    if episode.storing is None:
        return {}
    return {SPLITTING: str(episode.storing.cuts), STORAGE: str(episode.storing.plan)}


def of_given(
    environment: str, arguments: Mapping[str, Any], subject: Subject, evaluation: Evaluation
) -> dict[str, Any]:
    """Return the record of a schedule that no episode led to, as it was measured."""
    written: _Written = ([], GIVEN, str(evaluation.schedule))
    return _document(environment, arguments, subject, written, evaluation)


def _settled(arguments: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
    """Return arguments with the strategy that an automatic start stood for, not to ask again."""
    decides = subject.options.decides
    if arguments.get(START) is None or decides is None or decides.start is None:
        return dict(arguments)
    return {**arguments, START: str(subject.task.begins)}


def _document(
    environment: str,
    arguments: Mapping[str, Any],
    subject: Subject,
    written: _Written,
    evaluation: Evaluation | None,
) -> dict[str, Any]:
    limits, cuts = subject.options.limits, subject.source.splitting
    actions, phase, schedule = written
    return {
        "format": FORMAT,
        "version": VERSION,
        "polygym": __version__,
        "environment": environment,
        "arguments": _settled(arguments, subject),
        "program": {
            "target": subject.source.target,
            "file": subject.file,
            "function": subject.source.function,
            "dataset": subject.source.dataset.name.lower(),
            "parameters": dict(subject.program.parameters),
            "sha256": subject.digest,
            **({"splitting": str(cuts)} if cuts.statements else {}),
            **_storage(subject),
        },
        "process": {
            "max_coefficient": subject.options.max_coefficient,
            "max_dimensions": subject.options.max_dimensions,
            "max_rays": limits.rays,
            "max_vertices": limits.vertices,
            "seed": limits.seed,
            **(_questions(subject) if environment == OPTIMIZE else {}),
        },
        "actions": actions,
        "phase": phase,
        "schedule": schedule,
        "outcome": None if evaluation is None else outcome_of(evaluation, subject),
    }


def _questions(subject: Subject) -> dict[str, int]:
    """Return the version of the questions about a mapping, if it is decided."""
    decides = subject.options.decides
    return {} if decides is None else {QUESTIONS: decides.questions}


def _storage(subject: Subject) -> dict[str, str]:
    """Return where values are kept, if it is elsewhere than in the source."""
    plan = subject.source.storage
    return {} if plan.keeps else {"storage": str(plan)}


def read(text: str, name: str) -> dict[str, Any]:
    """Return a record from a file's text."""
    return read_as(text, name, FORMAT, VERSION, _EXPECTED)


def read_as(text: str, name: str, kind: str, version: int, expected: str) -> dict[str, Any]:
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
    _expect(record, name, FORMAT, VERSION, _EXPECTED)


def _expect(record: Mapping[str, Any], name: str, kind: str, version: int, expected: str) -> None:
    if record.get("format") != kind:
        raise InputError(f"{name}: expected {expected}")
    if type(record.get("version")) is not int or record["version"] != version:
        raise InputError(
            f"{name}: expected version {version} of the format, found {record.get('version')!r}"
        )


def outcome_of(evaluation: Evaluation, subject: Subject) -> dict[str, Any]:
    """Return what was measured as JSON, with the sizes for which it was."""
    return {**evaluation.to_json(), "parameters": dict(subject.program.parameters)}


def replay(record: Mapping[str, Any], name: str, file: str | None = None) -> Replay:
    """Play a record's actions again and compare what they lead to.

    ``name`` is what messages call the record; ``file`` is where its C file is now, if it has moved.
    """
    said = recorded(record, name)
    found = subject(replace(said.source, target=_target(said, name, file)), said.options)
    changed = found.digest != said.digest
    because = "; the C file has changed since" if changed else ""
    _compare_sizes(said, found, name, because)
    if said.phase is None:
        try:
            given = parse(said.schedule, found.program.scop)
        except InputError as error:
            raise NoLongerError(f"{name}: the schedule: {error}{because}") from None
        return Replay(found, None, given, said.measuring, changed, said.measured_for)
    episode = found.task.start()
    for number, action in enumerate(said.actions, start=1):
        if episode.is_over:
            raise NoLongerError(
                f"{name}: expected the episode to end with its last action, number "
                f"{len(said.actions)}, found its end before number {number}{because}"
            )
        episode = episode.after(action)
    if episode.phase is not said.phase:
        raise NoLongerError(
            f"{name}: expected the actions to end in {said.phase.value!r}, found "
            f"{episode.phase.value!r}{because}"
        )
    if said.homes and said.homes != homes_of(episode):
        raise NoLongerError(
            f"{name}: expected the actions to lead to {said.homes}, found {homes_of(episode)}"
            f"{because}"
        )
    if said.schedule != _schedule_text(episode):
        _compare(said.schedule, episode, name, because)
    schedule = episode.schedule() if episode.phase is Phase.COMPLETE and said.schedule else None
    measuring = said.measuring
    if episode.mapping is not None:
        measuring = replace(measuring, mapping=episode.mapping)
        if said.measured_under not in (None, measuring.mapping):
            raise NoLongerError(
                f"{name}: expected the actions to lead to the mapping {said.measured_under}, "
                f"under which the schedule was measured, found {measuring.mapping}{because}"
            )
    return Replay(found, episode, schedule, measuring, changed, said.measured_for)


def _compare_sizes(said: Recorded, found: Subject, name: str, because: str) -> None:
    """Refuse sizes that are not those of the program."""
    wanted = dict(said.source.parameters)
    try:
        sizes = dict(found.program.parameters)
    except SourceError:  # begins with a place of its own
        raise
    except InputError as error:
        raise InputError(f"{name}: the program cannot be loaded: {error}") from None
    if sizes != wanted:
        raise NoLongerError(
            f"{name}: expected the sizes {wanted}, found that the program has {sizes}{because}"
        )


def _schedule_text(episode: Episode) -> str:
    """Return the schedule of an episode, "" where there is none or its numbers are too large."""
    try:
        return str(episode.schedule()) if episode.phase is Phase.COMPLETE else ""
    except LimitError:
        return ""


def _target(said: Recorded, name: str, file: str | None) -> str:
    """Return the target as it was given, or where its file is if that names nothing here."""
    target = said.source.target
    if file is not None:
        if not is_path(target):
            raise InputError(f"{name}: expected no other C file, since it is about kernel {target}")
        return file
    if not is_path(target) or os.path.exists(target):
        return target
    if not os.path.exists(said.file):
        raise InputError(
            f"{name}: the C file of the episode is no longer there: {said.file}; if it has moved, "
            "`polygym replay --file NEW.c` takes it from its new place"
        )
    return said.file


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
        same = parse(written, episode.task.scop) == played
    except InputError:
        if not because:
            raise
        same = False
    if not same:
        raise NoLongerError(
            f"{name}: expected the actions to lead to the schedule {written}, found {played}"
            f"{because}"
        )
