"""Samples by perf: ``perf record`` runs the program, ``perf report`` tells the lines."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from polygym.errors import InputError
from polygym.files import temporary_folder
from polygym.profiling.running import run_program
from polygym.profiling.samples import Profile, ProfilingTool, Sample, parse_place

_FREQUENCY = "997"  # times a second; no multiple of what programs do regularly
_SECONDS = 600.0
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def missing_perf_reason() -> str:
    """Return why perf cannot be used, "" if it can."""
    path = shutil.which("perf")
    if path is None:
        return "perf: expected the program, found none; on Debian: apt-get install linux-perf"
    with temporary_folder() as folder:
        command = [path, "record", "-q", "-o", f"{folder}/data", "--", "true"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"perf: cannot be run: {error}"
    if done.returncode == 0:
        return ""
    level = _PARANOID.read_text().strip() if _PARANOID.exists() else "unknown"
    return (
        f"perf: not allowed here (kernel.perf_event_paranoid is {level}); root allows it with: "
        "sysctl kernel.perf_event_paranoid=1"
    )


def profile_by_perf(command: Sequence[str], *, output_to_stderr: bool) -> Profile:
    """Run a program under perf, and return the samples.

    Raises:
        InputError: The program cannot be started, or perf writes nothing.
    """
    with temporary_folder() as folder:
        data = f"{folder}/perf.data"
        record = ["perf", "record", "-q", "-F", _FREQUENCY, "-o", data, "--", *command]
        end = run_program(record, output_to_stderr=output_to_stderr)
        if not Path(data).exists() or not Path(data).stat().st_size:
            raise InputError(f"{command[0]}: perf has no samples of it (exit code {end.code})")
        fields = ["-F", "sample,dso,sym,srcline", "-t", "|", "--full-source-path"]
        report = ["perf", "report", "-i", data, "--stdio", "-q", "--no-children", *fields]
        try:
            done = subprocess.run(report, capture_output=True, text=True, timeout=_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"perf report: {error}") from None
    return Profile(ProfilingTool.PERF, parse_report(done.stdout), end)


def parse_report(text: str) -> tuple[Sample, ...]:
    """Return the samples of ``perf report``.

    >>> parse_report("251 |p |[.] product |/home/me/p.c:8")  # doctest: +NORMALIZE_WHITESPACE
    (Sample(count=251.0, object_file='p', symbol='product', file='/home/me/p.c', line=8),)
    """
    samples = []
    for row in text.splitlines():
        parts = [part.strip() for part in row.split("|")]
        if len(parts) < 4 or not parts[0].isdecimal():
            continue
        symbol = parts[2].partition("] ")[2] or parts[2]
        file, line = parse_place("|".join(parts[3:]))
        samples.append(Sample(float(parts[0]), parts[1], symbol, file, line))
    return tuple(samples)
