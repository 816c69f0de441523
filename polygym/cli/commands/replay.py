"""``polygym replay``: an episode from a file, played, checked and measured again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from polygym.cli.answer import Answer
from polygym.cli.options import json_option
from polygym.cli.output import heading, say, seconds, working
from polygym.cli.small_files import read_small_file
from polygym.cli.tables import print_table
from polygym.compiler.poly.legality import Violation, find_violation
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes import record
from polygym.episodes.record import NoLongerError, Replay
from polygym.errors import InputError
from polygym.measure.evaluation import Evaluation, Evaluator
from polygym.measure.evaluation.patience import decided_within
from polygym.measure.worker.timing import this_machine
from polygym.programs.wording import without_parameters

_HELP = """Play a recorded episode again: is its schedule the same, legal, correct, as fast?

FILE is `best.json` of `polygym optimize`, one line of its `episodes.jsonl` (line 1 is the setting,
episode k is line k + 2), or what `export()` of an environment returned. The actions are taken again
(a schedule that no actions led to, such as isl's, is taken as it is), legality is decided exactly,
and the schedule is measured beside the original order, under the mapping and for the sizes that
FILE says. Exit code 0: all of it holds; 1: the actions lead somewhere else now, or the schedule
does not run to a correct end. A different speedup is shown, not judged; times that were recorded
for other sizes are not shown beside those that are found.

\b
Examples:
  polygym replay found/best.json
  polygym replay found/best.json --no-run
  polygym replay found/best.json --file moved/my.c
  sed -n 37p found/episodes.jsonl > 35.json; polygym replay 35.json
  polygym replay episode.json --json
"""
_ROUNDS = 5


@click.command("replay", help=_HELP)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--no-run", is_flag=True, help="Play and check only; measure nothing.")
@click.option(
    "--file",
    "c_file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="NEW.c",
    help="Where the C file is now, if it has moved since the episode was recorded.",
)
@json_option
def command(file: Path, no_run: bool, c_file: str | None, as_json: bool) -> Answer:
    """Play the episode again, and say whether it is what was recorded."""
    recorded = _read(file)
    try:
        with working("playing the episode again"):
            played = record.replay(recorded, str(file), c_file)
    except NoLongerError as error:
        return _changed(str(error), as_json)
    schedule = played.schedule
    violation = None
    if schedule is not None:
        violation = decided_within(partial(find_violation, played.program.scop, schedule))
    found = None
    if schedule is not None and violation is None and not no_run:
        program = played.program
        with Evaluator(program, played.measuring) as evaluator, working(f"running {program.name}"):
            (found,) = evaluator.evaluate_together((schedule,), _ROUNDS)
    holds = violation is None and (found is None or found.is_ok)
    if as_json:
        return Answer(0 if holds else 1, _as_json(recorded, played, schedule, violation, found))
    _print(recorded, played, schedule, violation, found)
    return Answer(0 if holds else 1)


def _read(file: Path) -> Mapping[str, Any]:
    """Return the record in a file, or say what else it is."""
    text = read_small_file(str(file), "an episode")
    if '"schedule_of"' in text:
        raise InputError(
            f"{file}: expected one episode, found the mappings that were tried for a few; the best "
            "of all is in best.json"
        )
    if sum(line.startswith("{") for line in text.splitlines()) > 1:
        raise InputError(
            f"{file}: expected one episode, found several, a line each; take one of them, such as "
            f"`sed -n 2p {file} > episode.json`"
        )
    return record.read(text, str(file))


def _changed(message: str, as_json: bool) -> Answer:
    if as_json:
        return Answer(1, {"agrees": False, "error": message})
    say("changed", err=True, newline=False, fg="red", bold=True)
    say(f": {message}", err=True)
    return Answer(1)


def _as_json(
    recorded: Mapping[str, Any],
    played: Replay,
    schedule: Schedule | None,
    violation: Violation | None,
    found: Evaluation | None,
) -> dict[str, Any]:
    program, episode = played.program, played.episode
    return {
        "agrees": True,
        "program": program.name,
        "parameters": dict(program.parameters),
        "phase": "given" if episode is None else episode.phase.value,
        "steps": 0 if episode is None else len(episode.actions),
        "source_changed": played.changed,
        "schedule": None if schedule is None else str(schedule),
        "splitting": str(program.splitting),
        "storage": str(program.storage),
        "mapping": str(played.measuring.mapping),
        "tolerance": played.measuring.mapping.tolerance,
        "caveat": played.measuring.mapping.caveat,
        "legal": None if schedule is None else violation is None,
        "violation": None if violation is None else str(violation),
        "recorded": recorded.get("outcome"),
        "same_sizes": played.is_comparable,
        "found": None if found is None else found.to_json(),
        "machine": asdict(this_machine()),
    }


def _print(
    recorded: Mapping[str, Any],
    played: Replay,
    schedule: Schedule | None,
    violation: Violation | None,
    found: Evaluation | None,
) -> None:
    program = played.program
    sizes = ", ".join(f"{name} = {value}" for name, value in program.parameters)
    heading(f"{program.name}: {program.scop.name}({sizes})")
    episode = played.episode
    if episode is None:
        say("  episode   none: the schedule was given")
    else:
        say(f"  episode   {len(episode.actions)} actions, {episode.phase.value}, as before")
    if played.changed:
        effect = "" if episode is None else ", with no effect on the episode"
        say(f"  source    has changed since{effect}")
    if schedule is None:
        say("  schedule  none: the episode did not come to one")
        return
    say(f"  schedule  {without_parameters(str(schedule))}")
    if program.splitting.statements:
        say(f"  split     {program.splitting}")
    if not program.storage.keeps:
        say(f"  storage   {program.storage}")
    say(f"  mapping   {played.measuring.mapping}")
    simpler = played.measuring.mapping.simplified(None if found is None else found.done)
    for note in filter(None, (simpler, played.measuring.mapping.caveat)):
        say(f"            {note}")
    say("  legal     ", newline=False)
    if violation is not None:
        say(f"no: {violation}", fg="red")
        return
    say("yes", fg="green")
    rows = [_row("recorded", recorded.get("outcome"))] if played.is_comparable else []
    if not played.is_comparable:
        before = ", ".join(
            f"{name} = {value}" for name, value in (played.measured_for or {}).items()
        )
        say(f"  recorded  for other sizes ({before}): not comparable")
    if found is not None:
        rows.append(_row("found now", found.to_json()))
    if rows:
        print_table(("", "STATUS", "TIME", "ORIGINAL", "SPEEDUP"), rows, "llrrr")
    if found is not None and found.error_details:
        say(f"{found.status.value}: {found.error_details}", err=True)


def _row(name: str, outcome: object) -> tuple[str, ...]:
    """Return a line of the table; an episode may have been recorded without an outcome."""
    known = outcome if isinstance(outcome, Mapping) else {}
    status = str(known.get("status", "not measured"))
    times = [known.get(key) for key in ("seconds", "baseline_seconds")]
    speedup = known.get("speedup")
    return (
        name,
        status,
        *(seconds(time) if isinstance(time, float) and time > 0 else "-" for time in times),
        f"{speedup:.2f}x" if isinstance(speedup, float) and speedup > 0 else "-",
    )
