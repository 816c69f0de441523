"""``polygym machine``: what this machine does at most."""

from __future__ import annotations

from typing import Any

import click

from polygym.cli.answer import Answer
from polygym.cli.limits import disturbance
from polygym.cli.options import json_option, threads_option
from polygym.cli.output import heading, say, working
from polygym.cli.tables import print_table
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.measure.machine.kept import measured_again, peaks_of, place
from polygym.measure.machine.peaks import Peaks

_HELP = """Show what this machine does at most, by which limits of programs are computed.

Operations and bytes a second, of all threads together, and how long an operation takes that waits
for another. It is measured when it is first needed and kept in the cache folder, for this kind of
machine and each number of threads; --again measures it once more, on a machine that should have
nothing else to do.

\b
Examples:
  polygym machine --threads 2
  polygym machine --threads 2 --again
"""


@click.command("machine", help=_HELP)
@threads_option
@click.option("--again", is_flag=True, help="Measure it once more, and keep that instead.")
@json_option
def command(threads: int, again: bool, as_json: bool) -> Answer:
    """Measure, or read what was measured, and show it."""
    with working("measuring the machine"):
        peaks = measured_again(threads) if again else peaks_of(threads)
    machine = fingerprint()
    if as_json:
        document: dict[str, Any] = {"key": machine.key, "processor": machine.processor}
        document["file"] = None if (path := place()) is None else str(path)
        return Answer(document={**document, **peaks.to_json()})
    number = f"{peaks.threads} thread{'' if peaks.threads == 1 else 's'}"
    heading(f"{machine.processor}, {number} of {machine.cores}")
    _print(peaks)
    return Answer()


def _print(peaks: Peaks) -> None:
    say("Operations a second, in 10^9")
    print_table(
        ("TYPE", "ADD", "MULTIPLY", "BOTH", "DIVIDE", "ROOT"),
        [
            (
                one.type.value,
                *map(_billions, (one.add, one.multiply, one.any, one.divide, one.root)),
            )
            for one in peaks.rates
        ],
        "lrrrrr",
    )
    say("\nWaiting for an operation, in ns")
    print_table(
        ("TYPE", "ADD", "MULTIPLY", "MULTIPLY-ADD", "DIVIDE", "ROOT"),
        [
            (
                one.type.value,
                *(
                    f"{1e9 * value:.2f}"
                    for value in (one.add, one.multiply, one.multiply_add, one.divide, one.root)
                ),
            )
            for one in peaks.latencies
        ],
        "lrrrrr",
    )
    say("\nBytes a second, in 10^9")
    print_table(
        ("LEVEL", "HOLDS", "MOVES"),
        [
            (
                one.name,
                f"{one.size / 1024:,.0f} KB" if one.size else "all",
                _billions(one.bandwidth),
            )
            for one in peaks.levels
        ],
        "lrr",
    )
    if warning := disturbance(peaks):
        say(f"\n{warning}", err=True)


def _billions(value: float) -> str:
    return f"{value / 1e9:.3g}" if value else "-"
