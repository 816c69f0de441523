"""An episode as JSON, and back: what was asked for, which actions were taken, how it ended.

A record names the program and its sizes, the size of the processes, and every action (those of a
policy too), in the numbers of :mod:`polygym.mdp.episode`. Playing them again gives the same episode
wherever polygym is the same; the schedule that is written beside them says whether it did.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polygym
from polybench import Dataset
from polygym.envs.arguments import evaluation_options
from polygym.envs.kernels import Source, Subject, subject
from polygym.errors import InputError, LimitError
from polygym.evaluation import Evaluation, EvaluationOptions
from polygym.mdp.episode import Episode, Phase, TaskOptions
from polygym.poly.schedule import parse
from polygym.poly.spaces.polyhedra import Limits

FORMAT = "polygym episode"
VERSION = 1

# What the reader of a record wants to know, and playing it again does not need.
_ONLY_TOLD = ("polygym", "environment", "outcome")

_MOST_GENERATORS = 100_000
_LARGEST_NUMBER = 2**63 - 1


class NoLongerError(InputError):
    """The actions of a record no longer lead to what it says they do."""


@dataclass(frozen=True, slots=True)
class Replay:
    """An episode that was played again; ``changed`` says that the C file is another one now."""

    subject: Subject
    episode: Episode
    measuring: EvaluationOptions
    changed: bool


def of(
    environment: str,
    arguments: Mapping[str, Any],
    subject: Subject,
    episode: Episode,
    evaluation: Evaluation | None,
) -> dict[str, Any]:
    """Return the record of an episode, finished or not."""
    limits = subject.options.limits
    schedule = _schedule_text(episode)
    return {
        "format": FORMAT,
        "version": VERSION,
        "polygym": polygym.__version__,
        "environment": environment,
        "arguments": dict(arguments),
        "program": {
            "target": subject.source.target,
            "file": subject.file,
            "function": subject.source.function,
            "dataset": subject.source.dataset.name.lower(),
            "parameters": dict(subject.program.parameters),
            "sha256": subject.digest,
        },
        "process": {
            "max_coefficient": subject.options.max_coefficient,
            "max_dimensions": subject.options.max_dimensions,
            "max_rays": limits.rays,
            "max_vertices": limits.vertices,
            "seed": limits.seed,
        },
        "actions": list(episode.actions),
        "phase": episode.phase.value,
        "schedule": schedule,
        "outcome": None if evaluation is None else evaluation.to_json(),
    }


def read(text: str, name: str) -> dict[str, Any]:
    """Return a record from a file's text."""
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}: expected JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{name}: expected JSON: it is too deeply nested") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"{name}: expected JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(
            f'{name}: expected an episode, {{"format": "{FORMAT}", ...}}, as export() and '
            "polygym optimize write it"
        )
    if type(record.get("version")) is not int or record["version"] != VERSION:
        raise InputError(
            f"{name}: expected version {VERSION} of the format, found {record.get('version')!r}"
        )
    return record


def replay(record: Mapping[str, Any], name: str) -> Replay:
    """Play a record's actions again and compare what they lead to."""
    try:
        if missing := [key for key in _ONLY_TOLD if key not in record]:
            raise KeyError(*missing)
        program, process = record["program"], record["process"]
        source = Source(
            _target(_text(program["target"]), _text(program["file"])),
            None if program["function"] is None else _text(program["function"]),
            Dataset[_text(program["dataset"]).upper()],
            tuple(
                (key, _integer(value, -_LARGEST_NUMBER))
                for key, value in program["parameters"].items()
            ),
        )
        limits = Limits(
            rays=_integer(process["max_rays"], 1, _MOST_GENERATORS),
            vertices=_integer(process["max_vertices"], 1, _MOST_GENERATORS),
            seed=_integer(process["seed"]),
        )
        options = TaskOptions(
            _integer(process["max_coefficient"]), _integer(process["max_dimensions"]), limits
        )
        actions = [_integer(action) for action in record["actions"]]
        written, digest, phase = (
            _text(record["schedule"]),
            _text(program["sha256"]),
            _text(record["phase"]),
        )
        measuring = evaluation_options(
            record["arguments"]["threads"],
            record["arguments"]["timeout_factor"],
            record["arguments"]["mapping"],
        )
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise InputError(
            f"{name}: an episode with missing or wrong entries ({type(error).__name__}: {error})"
        ) from None
    found = subject(source, options)
    changed = found.digest != digest
    because = "; the C file has changed since" if changed else ""
    sizes = dict(found.program.parameters)
    if sizes != dict(source.parameters):
        raise NoLongerError(
            f"{name}: expected the sizes {dict(source.parameters)}, found that the program has "
            f"{sizes}{because}"
        )
    episode = found.task.start()
    for number, action in enumerate(actions, start=1):
        if episode.is_over:
            raise NoLongerError(
                f"{name}: expected the episode to end with its last action, number "
                f"{len(actions)}, found its end before number {number}{because}"
            )
        episode = episode.after(action)
    if episode.phase.value != phase:
        raise NoLongerError(
            f"{name}: expected the actions to end in {phase!r}, found "
            f"{episode.phase.value!r}{because}"
        )
    if written != _schedule_text(episode):
        _compare(written, episode, name, because)
    return Replay(found, episode, measuring, changed)


def _schedule_text(episode: Episode) -> str:
    """Return the schedule of an episode, "" where there is none or its numbers are too large."""
    try:
        return str(episode.schedule()) if episode.phase is Phase.COMPLETE else ""
    except LimitError:
        return ""


def _target(target: str, file: str) -> str:
    """Return the target as it was given, or the file's full path where that names nothing here."""
    is_path = "/" in target or target.endswith(".c")
    return file if is_path and not os.path.exists(target) else target


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


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _integer(value: object, least: int = 0, most: int = _LARGEST_NUMBER) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is not an integer from {least} to {most}")
    return value
