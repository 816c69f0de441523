"""``polygym replay``: an episode or a transcript, played, checked and measured again."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from polybench import Dataset
from polygym.cli.execution.transcript_replay import replayed_transcript
from polygym.cli.options.common import (
    flag_options,
    given_flags,
    json_option,
    mapping_options,
    moved_file_option,
    resolve_mapping,
    size_options,
)
from polygym.cli.options.values import parsed_by, read_small_file
from polygym.cli.output import console
from polygym.cli.output.console import shorten
from polygym.errors import InputError
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mapping.mapping import Mapping as ScheduleMapping
from polygym.mdp.records import episode_record
from polygym.mdp.records.episode_record import Replay, ReplayMismatchError
from polygym.poly.legality import Violation, find_violation
from polygym.programs.isl_text import without_parameters
from polygym.ratios import ratio_text
from polygym.runtime.evaluation import Evaluation, Evaluator
from polygym.runtime.evaluation.time_limits import check_within
from polygym.runtime.worker.timing import describe_host
from polygym.text_interface import transcripts

_HELP = """Play a recorded episode again: is its schedule the same, legal, correct, as fast?

FILE is `best.json` of `polygym optimize`, one line of its `journal.jsonl` (line 1 is the setting,
proposal k is line k + 2), or what `export()` of an environment returned. The actions are taken
again (a schedule that no actions led to, such as isl's, is taken as it is), legality is decided
exactly, and the schedule is measured beside the original order, under the mapping and for the sizes
of FILE. Exit code 0: all of it holds; 1: the actions lead to another schedule now, or the schedule
does not run to a correct end. A different speedup is shown, not judged; times that were recorded
for other sizes are not shown.

FILE may also be the transcript of a text session (`polygym serve`, `TextView`): its lines are sent
again, and must lead to the same states.

In the place of FILE, --kernel and --actions take the bare actions of an episode of Schedule-v0, as
tables and papers list them, under the default mapping if no other is named. An action that the
mask forbids there is refused with those that it allows.

\b
Examples:
  polygym replay found/best.json
  polygym replay found/best.json --no-run
  polygym replay found/best.json --file moved/my.c
  sed -n 37p found/journal.jsonl > 35.json; polygym replay 35.json
  polygym replay episode.json --json
  polygym replay --kernel trisolv -d mini \\
    --actions 2,1,2,1,2,1,2,1,2,3,4,3,3,3,3,3,3,3,3,3,3,3,3
"""
_ROUNDS = 5
_HEAD = 1000  # the format of a file stands among its first characters


def _numbers(text: str) -> tuple[int, ...]:
    """Return the actions of a text: digits with commas, spaces or brackets around them."""
    words = text.translate(str.maketrans("[](),", "     ")).split()
    if not words or not all(word.isdecimal() and len(word) < 10 for word in words):
        raise InputError(f"expected numbers with commas, such as 1,0,3, found {shorten(text)!r}")
    return tuple(map(int, words))


@click.command("replay", help=_HELP)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--kernel", metavar="KERNEL", help="The program of bare actions: a kernel or a C file."
)
@click.option(
    "--actions",
    metavar="N,N,...",
    callback=parsed_by(_numbers),
    help="Actions of an episode of Schedule-v0, with commas or spaces between them.",
)
@size_options
@mapping_options
@click.option("--no-run", is_flag=True, help="Play and check only; measure nothing.")
@moved_file_option
@flag_options
@json_option
def command(
    file: Path | None,
    kernel: str | None,
    actions: tuple[int, ...] | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    threads: int,
    mapping: ScheduleMapping | None,
    no_run: bool,
    c_file: str | None,
    as_json: bool,
) -> console.CommandResult:
    """Play the episode again, and say whether it is what was recorded."""
    if (file is None) == (kernel is None) or (kernel is None) != (actions is None):
        raise click.UsageError("expected FILE, or --kernel with --actions")
    if kernel is not None and actions is not None:
        how = resolve_mapping(mapping, DEFAULT_MAPPING, threads)
        chosen = {"dataset": (dataset or Dataset.LARGE).name.lower(), "parameters": parameters}
        recorded = _play(kernel, actions, how, **chosen)
        name, folder = "--actions", Path()
    elif file is not None:
        recorded, name, folder = _read(file), str(file), file.parent
        if recorded["format"] == transcripts.FORMAT:
            return replayed_transcript(
                recorded, name, c_file, is_measured=not no_run, as_json=as_json
            )
    try:
        with console.spinner("playing the episode again"):
            flags = given_flags(c_file or episode_record.recorded_file(recorded))
            played = episode_record.replay_record(recorded, name, c_file, flags, folder)
    except ReplayMismatchError as error:
        return console.changed(str(error), as_json)
    schedule = played.schedule
    violation = None
    if schedule is not None:
        violation = check_within(partial(find_violation, played.program.scop, schedule))
    evaluation = None
    if schedule is not None and violation is None and not no_run:
        program = played.program
        with (
            Evaluator(program, played.evaluation_options) as evaluator,
            console.spinner(f"running {program.name}"),
        ):
            (evaluation,) = evaluator.evaluate_interleaved((schedule,), _ROUNDS)
    holds = violation is None and (evaluation is None or evaluation.is_ok)
    parts = recorded, played, violation, evaluation
    return console.answer(as_json, _as_json(*parts), lambda: _print(*parts), int(not holds))


def _play(
    kernel: str, actions: Sequence[int], mapping: ScheduleMapping, **sizes: Any
) -> Mapping[str, Any]:
    """Return the record of an episode of Schedule-v0 with these actions, not measured.

    Raises:
        InputError: an action is not allowed where it stands, or the episode ends before or after
            the last one.
    """
    from polygym.envs.schedule import ScheduleEnv

    env = ScheduleEnv(
        kernel, reward="static", threads=mapping.threads, mapping=str(mapping), **sizes
    )
    env.reset(seed=0)
    for number, action in enumerate(actions, start=1):
        if env.episode.is_over:
            raise InputError(
                f"--actions: expected {number - 1} of them, with which the episode ends, found "
                f"{len(actions)}"
            )
        allowed = [choice for choice, is_allowed in enumerate(env.action_masks()) if is_allowed]
        if action not in allowed:
            raise InputError(
                f"--actions: number {number}: expected {' or '.join(map(str, allowed))}, which the "
                f"mask allows in the phase {env.episode.phase.value}, found {action}"
            )
        env.take(action)
    if not env.episode.is_over:
        raise InputError(
            f"--actions: expected an episode to its end, found one that goes on after "
            f"{len(actions)} actions, in the phase {env.episode.phase.value}"
        )
    return env.export()


def _read(file: Path) -> Mapping[str, Any]:
    """Return the record in a file, or say what else it is."""
    text = read_small_file(str(file), "an episode")
    if sum(line.startswith("{") for line in text.splitlines()) > 1:
        raise InputError(
            f"{file}: expected one episode, found several, a line each; take one of them, such as "
            f"`sed -n 2p {file} > episode.json`"
        )
    if f'"{transcripts.FORMAT}"' in text[:_HEAD]:
        return transcripts.read_transcript(text, str(file))
    return episode_record.read_record(text, str(file))


def _as_json(
    recorded: Mapping[str, Any],
    played: Replay,
    violation: Violation | None,
    measured: Evaluation | None,
) -> dict[str, Any]:
    program, episode, schedule = played.program, played.episode, played.schedule
    mapping = played.evaluation_options.mapping
    return {
        "agrees": True,
        "program": program.name,
        "parameters": dict(program.parameters),
        "phase": "given" if episode is None else episode.phase.value,
        "steps": 0 if episode is None else len(episode.actions),
        "source_changed": played.is_source_changed,
        "schedule": None if schedule is None else str(schedule),
        "splitting": str(program.splitting),
        "storage": str(program.storage),
        "mapping": str(mapping),
        "tolerance": mapping.tolerance,
        "caveat": mapping.timing_caveat,
        "legal": None if schedule is None else violation is None,
        "violation": None if violation is None else str(violation),
        "recorded": recorded.get("outcome"),
        "same_sizes": played.is_comparable,
        "found": None if measured is None else measured.to_json(),
        "machine": asdict(describe_host()),
    }


def _print(
    recorded: Mapping[str, Any],
    played: Replay,
    violation: Violation | None,
    measured: Evaluation | None,
) -> None:
    program, episode, schedule = played.program, played.episode, played.schedule
    console.heading(
        f"{program.name}: {program.scop.name}({console.sizes_text(program.parameters)})"
    )
    mapping = played.evaluation_options.mapping
    if episode is None:
        console.write_text("  episode   none: the schedule was given")
    else:
        console.write_text(
            f"  episode   {len(episode.actions)} actions, {episode.phase.value}, as before"
        )
    if played.is_source_changed:
        effect = "" if episode is None else ", with no effect on the episode"
        console.write_text(f"  source    has changed since{effect}")
    if schedule is None:
        console.write_text("  schedule  none: the episode did not come to one")
        return
    console.write_text(f"  schedule  {without_parameters(str(schedule))}")
    if program.splitting.statements:
        console.write_text(f"  split     {program.splitting}")
    if not program.storage.is_source:
        console.write_text(f"  storage   {program.storage}")
    console.write_text(f"  mapping   {mapping}")
    simpler = mapping.simplification_note(None if measured is None else measured.applied_mapping)
    for note in filter(None, (simpler, mapping.timing_caveat)):
        console.write_text(f"            {note}")
    console.write_text("  legal     ", newline=False)
    if violation is not None:
        console.write_text(f"no: {violation}", fg="red")
        return
    console.write_text("yes", fg="green")
    outcome = recorded.get("outcome")
    rows = [_row("recorded", outcome)] if played.is_comparable and outcome else []
    if not played.is_comparable:
        before = console.sizes_text((played.measured_for or {}).items())
        console.write_text(f"  recorded  for other sizes ({before}): not comparable")
    if measured is not None:
        rows.append(_row("found now", measured.to_json()))
    if rows:
        console.print_table(("", "STATUS", "TIME", "ORIGINAL", "SPEEDUP"), rows, "llrrr")
    if measured is not None and measured.error_details:
        console.write_text(f"{measured.status.value}: {measured.error_details}", err=True)


def _row(name: str, outcome: object) -> tuple[str, ...]:
    """Return a line of the table; an episode may have been recorded without an outcome."""
    known = outcome if isinstance(outcome, Mapping) else {}
    status = str(known.get("status", "not measured"))
    times = [known.get(key) for key in ("seconds", "baseline_seconds")]
    speedup = known.get("speedup")
    return (
        name,
        status,
        *(
            console.format_seconds(time) if isinstance(time, float) and time > 0 else "-"
            for time in times
        ),
        ratio_text(speedup if isinstance(speedup, float) and speedup > 0 else None),
    )
