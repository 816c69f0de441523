"""Replay of the transcript of a text session, for ``polygym replay``."""

from collections.abc import Mapping
from typing import Any

from polygym.cli.output import console
from polygym.mdp.records.episode_record import ReplayMismatchError
from polygym.programs.isl_text import without_parameters
from polygym.ratios import ratio_text
from polygym.text_interface import transcripts
from polygym.text_interface.judgement import Judgement


def replayed_transcript(
    recorded: Mapping[str, Any], name: str, c_file: str | None, *, is_measured: bool, as_json: bool
) -> console.CommandResult:
    """Send the lines of a transcript again, and say whether they lead to the same states."""
    try:
        with console.spinner("sending the lines again"):
            played = transcripts.replay_transcript(
                recorded, name, is_measured=is_measured, source_file=c_file
            )
    except ReplayMismatchError as error:
        return console.changed(str(error), as_json)
    session = played.session
    is_fine = all(row.found is None or row.found.is_ok for row in played.outcomes)
    document = {
        "agrees": True,
        "program": session.problem.program.name,
        "parameters": dict(session.problem.program.parameters),
        "lines": len(session.history),
        "steps": [str(step) for step in session.state.steps],
        "source_changed": played.is_source_changed,
        **transcripts.state_texts(session.state),
        "outcomes": [
            {
                "line": row.line,
                "recorded": transcripts.outcome_entries(row.recorded),
                "found": None if row.found is None else transcripts.outcome_entries(row.found),
            }
            for row in played.outcomes
        ],
    }
    code = int(not is_fine)
    return console.answer(as_json, document, lambda: _print_transcript(played), code)


def _print_transcript(played: transcripts.TranscriptReplay) -> None:
    session = played.session
    program = session.problem.program
    console.heading(
        f"{program.name}: {program.scop.name}({console.sizes_text(program.parameters)})"
    )
    console.write_text(f"  lines     {len(session.history)}, each to the same state as before")
    if played.is_source_changed:
        console.write_text("  source    has changed since, with no effect on the states")
    for name, text in filter(all, transcripts.state_texts(session.state).items()):
        console.write_text(f"  {name:<9} {without_parameters(text)}")
    rows = [
        (
            str(number),
            row.recorded.status if row.found is None else row.found.status,
            *(_judged(judgement) for judgement in (row.recorded, row.found)),
        )
        for number, row in enumerate(played.outcomes, start=1)
    ]
    if rows:
        console.print_table(("MEASUREMENT", "STATUS", "RECORDED", "FOUND NOW"), rows, "rlrr")


def _judged(judgement: Judgement | None) -> str:
    """Return the time and the speedup of a judgement, or its score."""
    if judgement is None or not judgement.is_ok:
        return "-"
    if not judgement.seconds:
        return f"score {judgement.worth:.4f}"
    return f"{console.format_seconds(judgement.seconds)}, {ratio_text(judgement.worth)}"
