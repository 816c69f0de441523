"""``polygym machine``: what this machine does at most."""

from dataclasses import astuple

import click

from polygym.cli.options.common import json_option, threads_option
from polygym.cli.output import console
from polygym.cli.output.limits import busy_machine_note
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.peaks.calibration import peak_cache_path, peaks_for, remeasured_peaks
from polygym.runtime.peaks.machine_peaks import Peaks

_HELP = """Show what this machine does at most, by which limits of programs are computed.

Operations and bytes a second, of all threads together, and how long an operation takes that waits
for another. It is measured when it is first needed and kept in the cache folder, for this kind of
machine and each number of threads; --remeasure measures it once more, on a machine that should have
nothing else to do.

\b
Examples:
  polygym machine --threads 2
  polygym machine --threads 2 --remeasure
"""


@click.command("machine", help=_HELP)
@threads_option
@click.option("--remeasure", is_flag=True, help="Measure again, and keep the new result.")
@json_option
def command(threads: int, remeasure: bool, as_json: bool) -> console.CommandResult:
    """Measure, or read what was measured, and show it."""
    with console.spinner("measuring the machine"):
        peaks = remeasured_peaks(threads) if remeasure else peaks_for(threads)
    machine = machine_fingerprint()
    if as_json:
        file = None if (path := peak_cache_path()) is None else str(path)
        document = {"key": machine.key, "processor": machine.processor, "file": file}
        return console.CommandResult(document=document | peaks.to_json())
    console.heading(
        f"{machine.processor}, {console.counted(peaks.threads, 'thread')} of {machine.cores}"
    )
    _print(peaks)
    return console.CommandResult()


def _print(peaks: Peaks) -> None:
    console.write_text("Operations a second, in 10^9")
    rows = [(rate.type.value, *map(_billions, astuple(rate)[1:])) for rate in peaks.rates]
    console.print_table(("TYPE", "ADD", "MULTIPLY", "BOTH", "DIVIDE", "ROOT"), rows, "lrrrrr")
    console.write_text("\nWaiting for an operation, in ns")
    rows = [
        (latency.type.value, *(f"{1e9 * value:.2f}" for value in astuple(latency)[1:]))
        for latency in peaks.latencies
    ]
    console.print_table(
        ("TYPE", "ADD", "MULTIPLY", "MULTIPLY-ADD", "DIVIDE", "ROOT"), rows, "lrrrrr"
    )
    console.write_text("\nBytes a second, in 10^9")
    rows = [
        (
            level.name,
            f"{level.size / 1024:,.0f} KB" if level.size else "all",
            _billions(level.bandwidth),
        )
        for level in peaks.levels
    ]
    console.print_table(("LEVEL", "HOLDS", "MOVES"), rows, "lrr")
    if warning := busy_machine_note(peaks):
        console.write_text(f"\n{warning}", err=True)


def _billions(value: float) -> str:
    return f"{value / 1e9:.3g}" if value else "-"
