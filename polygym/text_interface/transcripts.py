"""Transcripts: sessions as JSON, and back.

A transcript names the program, its sizes and the digest of its source, the options, and every line
with the status of its reply and the state after it. Replaying sends the same lines and compares
statuses, schedules, mappings, splittings and storage; times are reported beside each other. Every
entry is checked before anything is loaded; an error names the file, the entry, what was expected
and what was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from polybench import Dataset
from polygym.errors import InputError
from polygym.mdp.problems.arguments import check_evaluation_options
from polygym.mdp.problems.loading import ProgramSource, load_problem, problem_of
from polygym.mdp.records.episode_record import ReplayMismatchError, read_record_as
from polygym.mdp.records.record_checks import JsonEntries
from polygym.mdp.rewards import RewardKind
from polygym.mdp.task_options import TaskOptions
from polygym.programs import is_path
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.text_interface.judgement import NOT_MEASURED, Judgement
from polygym.text_interface.session import (
    Budget,
    Entry,
    ReplyStatus,
    SessionOptions,
    TextSession,
)
from polygym.transformations.state import TransformState
from polygym.version import __version__

FORMAT = "polygym transcript"
VERSION = 1

_EXPECTED = f'a transcript, {{"format": "{FORMAT}", ...}}, as `export` of a text session writes it'
_KEYS = ("format", "version", "polygym", "program", "options", "lines")
_PROGRAM_KEYS = ("target", "file", "function", "dataset", "parameters", "sha256")
_OPTION_KEYS = (
    "reward", "threads", "timeout_factor", "mapping", "memory_limit", "evaluations", "seconds",
    "lines",
)  # fmt: skip
_LINE_KEYS = ("line", "status", "schedule", "mapping", "splitting", "storage", "outcome")
_OUTCOME_KEYS = ("status", "worth", "seconds", "baseline_seconds")
_DATASETS = tuple(dataset.name.lower() for dataset in Dataset)
_STATE_KEYS = ("schedule", "mapping", "splitting", "storage")
_MOST = 2**62

_MACHINE_LIMITS = (ReplyStatus.NO_BUDGET, ReplyStatus.LIMIT)
"""Lines that a limit has ended change nothing; another machine may be faster."""


@dataclass(frozen=True, slots=True)
class RecordedLine:
    """A line of a transcript: what was sent, what came of it."""

    line: str
    status: ReplyStatus
    state: Mapping[str, str]
    judgement: Judgement | None


@dataclass(frozen=True, slots=True)
class CheckedTranscript:
    """The entries of a transcript."""

    source: ProgramSource
    file: str
    digest: str
    options: SessionOptions
    lines: tuple[RecordedLine, ...]


@dataclass(frozen=True, slots=True)
class ComparedOutcome:
    """What a line of a transcript has found, then and now; ``found`` is None if nothing ran."""

    line: str
    recorded: Judgement
    found: Judgement | None


@dataclass(frozen=True, slots=True)
class TranscriptReplay:
    """A transcript that was played again: the session, its outcomes, whether the file changed."""

    session: TextSession
    outcomes: tuple[ComparedOutcome, ...]
    is_source_changed: bool


def transcript_of(session: TextSession) -> dict[str, Any]:
    """Return the transcript of a session, finished or not."""
    problem, options = session.problem, session.options
    source, budget = problem.source, options.budget
    return {
        "format": FORMAT,
        "version": VERSION,
        "polygym": __version__,
        "program": {
            "target": source.target,
            "file": problem.file,
            "function": source.function,
            "dataset": source.dataset.name.lower(),
            "parameters": dict(problem.program.parameters),
            "sha256": problem.source_digest,
        },
        "options": {
            "reward": options.reward.value,
            "threads": options.evaluation.threads,
            "timeout_factor": options.evaluation.timeout_factor,
            "mapping": str(options.evaluation.mapping),
            "memory_limit": options.memory_limit,
            "evaluations": budget.evaluations,
            "seconds": budget.seconds,
            "lines": budget.lines,
        },
        "lines": [_line_entries(entry) for entry in session.history],
    }


def _line_entries(entry: Entry) -> dict[str, Any]:
    judgement = entry.judgement
    return {
        "line": entry.line,
        "status": entry.status.value,
        **state_texts(entry.state),
        "outcome": None if judgement is None else outcome_entries(judgement),
    }


def outcome_entries(judgement: Judgement) -> dict[str, Any]:
    """Return what a line has found as JSON."""
    return {
        "status": judgement.status,
        "worth": judgement.worth,
        "seconds": judgement.seconds,
        "baseline_seconds": judgement.baseline_seconds,
    }


def state_texts(state: TransformState) -> dict[str, str]:
    """Return the texts by which states are compared."""
    return {
        "schedule": str(state.schedule),
        "mapping": str(state.mapping),
        "splitting": str(state.splitting),
        "storage": str(state.storage),
    }


def read_transcript(text: str, name: str) -> dict[str, Any]:
    """Return a transcript from a file's text.

    Raises:
        InputError: it is none.
    """
    return read_record_as(text, name, FORMAT, VERSION, _EXPECTED)


def check_transcript(record: Mapping[str, Any], name: str) -> CheckedTranscript:
    """Return the entries of a transcript; ``name`` is its file's, for messages.

    Raises:
        InputError: an entry is missing, unknown or wrong.
    """
    whole = JsonEntries(name, "", record)
    whole.check_keys(_KEYS)
    whole.version("polygym")
    program = whole.object_at("program")
    program.check_keys(_PROGRAM_KEYS)
    sizes = program.object_at("parameters")
    source = ProgramSource(
        program.text("target"),
        None if program.entry("function") is None else program.text("function"),
        Dataset[program.one_of("dataset", _DATASETS).upper()],
        tuple((key, sizes.integer(key, -_MOST)) for key in sizes.entries),
    )
    lines = whole.objects_at("lines")
    return CheckedTranscript(
        source,
        program.text("file"),
        program.text("sha256"),
        _options(whole.object_at("options")),
        tuple(_line(lines.object_at(key)) for key in lines.entries),
    )


def _options(options: JsonEntries) -> SessionOptions:
    options.check_keys(_OPTION_KEYS)
    reward = RewardKind(options.one_of("reward", [kind.value for kind in RewardKind]))
    seconds = None if options.entry("seconds") is None else options.number("seconds")
    lines = None if options.entry("lines") is None else options.integer("lines")
    try:
        evaluation = check_evaluation_options(
            options.integer("threads"),
            options.number("timeout_factor"),
            options.text("mapping"),
        )
    except InputError as error:
        raise InputError(f"{options.file}: the entry options: {error}") from None
    budget = Budget(options.integer("evaluations"), seconds, lines)
    return SessionOptions(reward, evaluation, options.integer("memory_limit"), budget)


def _line(line: JsonEntries) -> RecordedLine:
    line.check_keys(_LINE_KEYS)
    status = line.one_of("status", [status.value for status in ReplyStatus])
    judgement = None
    if line.entry("outcome") is not None:
        outcome = line.object_at("outcome")
        outcome.check_keys(_OUTCOME_KEYS)
        known = [status.value for status in OutcomeStatus]
        found = outcome.one_of("status", [*known, NOT_MEASURED])
        judgement = Judgement(
            found,
            found in (OutcomeStatus.OK.value, NOT_MEASURED),
            outcome.number("worth"),
            outcome.number("seconds"),
            outcome.number("baseline_seconds"),
        )
    state = {key: line.text(key) for key in _STATE_KEYS}
    return RecordedLine(line.text("line"), ReplyStatus(status), state, judgement)


class _RecordedJudge:
    """Returns what a transcript has, in the place of a measurement."""

    is_measured = False

    def __init__(self) -> None:
        self.recorded = Judgement(NOT_MEASURED, False)

    def judge(self, _: TransformState) -> Judgement:
        return self.recorded


def replay_transcript(
    record: Mapping[str, Any],
    name: str,
    *,
    is_measured: bool = True,
    source_file: str | None = None,
) -> TranscriptReplay:
    """Send the lines of a transcript again and compare the states after them.

    With ``is_measured`` programs are measured again, where they were; ``source_file`` is where the
    C file is now, if it has moved.

    Raises:
        ReplayMismatchError: a line leads to another status or state.
        InputError: an entry is wrong, or the program cannot be loaded.
    """
    checked = check_transcript(record, name)
    source = checked.source
    if source_file is not None:
        if not is_path(source.target):
            raise InputError(
                f"{name}: expected no other C file, since it is about kernel {source.target}"
            )
        source = replace(source, target=source_file)
    problem = problem_of(source, TaskOptions())
    load_problem(problem)
    changed = problem.source_digest != checked.digest
    because = "; the source has changed since" if changed else ""
    sizes = dict(problem.program.parameters)
    if sizes != dict(source.parameters):
        raise ReplayMismatchError(
            f"{name}: expected the sizes {dict(source.parameters)}, found {sizes}{because}"
        )
    budget = replace(checked.options.budget, seconds=None)
    recorded = None if is_measured else _RecordedJudge()
    session = TextSession(problem, replace(checked.options, budget=budget), recorded)
    outcomes = []
    for number, line in enumerate(checked.lines):
        if recorded is not None and line.judgement is not None:
            recorded.recorded = line.judgement
        if line.status in _MACHINE_LIMITS:
            session.skip(line.line, line.status)
        else:
            session.reply(line.line)
        entry = session.history[-1]
        _compare(name, f"lines.{number}", line, entry, because)
        if line.judgement is not None:
            found = entry.judgement if is_measured else None
            outcomes.append(ComparedOutcome(line.line, line.judgement, found))
    return TranscriptReplay(session, tuple(outcomes), changed)


def _compare(name: str, place: str, line: RecordedLine, entry: Entry, because: str) -> None:
    """Refuse a line that leads to another status or state."""
    found = {"status": entry.status.value, **state_texts(entry.state)}
    for key, wanted in {"status": line.status.value, **line.state}.items():
        if found[key] != wanted:
            raise ReplayMismatchError(
                f"{name}: the entry {place}.{key}: expected the line {line.line[:80]!r} to lead to "
                f"{wanted}, found {found[key]}{because}"
            )
