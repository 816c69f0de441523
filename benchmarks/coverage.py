"""Stages that loop nests of C programs reach: found → modelled → legal → faster → equal.

    python benchmarks/coverage.py --out coverage                   # the suite
    python benchmarks/coverage.py --only hls,vector --out coverage
    python benchmarks/coverage.py ~/project/src -I include --out project
    python benchmarks/coverage.py --time --out timed               # quiet machine

Without a folder the nests of ``benchmarks/suite`` are looked at, which a person marked and judged
(``nests.tsv``). In another folder every region and every refused loop of `polygym scan` is a nest;
``compile_commands.json`` there is read.

========  ====================================================================================
found     the scan lists the nest: as a region, or as a loop that is refused, with the reason
modelled  a region contains the whole nest: as it is, or with the options in the table
legal     the automatic schedule is verified to be legal
faster    time of the source order over the automatic schedule's; with --time alone, at sizes
          at which the source takes a millisecond ("short" where none are that large)
equal     outputs agree with those of gcc's code: of the function alone (gcc), or of the whole
          program, built with the fast loops, which ran (program). "source": the function does
          more than the region, so only the source order of polygym was compared
========  ====================================================================================

Each nest has a process of its own and a time limit. ``results.jsonl`` in --out has a line for each
nest; the same command leaves out what is there, unless the file has changed. Take a new folder for
another version of polygym. Exit code 1: an output was wrong, or something crashed.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

from coverage_study.journal import open_journal
from coverage_study.nests import is_suite
from coverage_study.report import text_report, to_json
from coverage_study.stages import CoverageOptions, CoverageTarget, look_at, suite_targets

from polygym.durations import parse_duration
from polygym.errors import LongWaitWarning, PolygymError
from polygym.frontend.c.source.compile_flags import checked_flags
from polygym.scan.sources import scan_sources

SUITE = Path(__file__).parent / "suite"


def targets_of(folder: Path, include: list[str], macros: list[str]) -> tuple[CoverageTarget, ...]:
    """Return the files of a suite, or those of a user's folder."""
    if is_suite(folder):
        return suite_targets(folder)
    sources = scan_sources(folder, checked_flags(include, macros))
    return tuple(CoverageTarget(source.path, source) for source in sources)


def _chosen(targets: tuple[CoverageTarget, ...], only: str) -> tuple[CoverageTarget, ...]:
    """Return the files whose names begin with one of some words."""
    words = tuple(word for word in only.split(",") if word)
    chosen = tuple(target for target in targets if not words or target.name.startswith(words))
    if not chosen:
        known = sorted({target.name.split("/")[0] for target in targets})
        sys.exit(
            f"--only: expected the beginning of a file's name ({', '.join(known)}), found {only}"
        )
    return chosen


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=SUITE,
        help="a folder, a C file, or compile_commands.json; the suite",
    )  # fmt: skip
    parser.add_argument("--only", default="", help="files that begin so, with commas between")
    parser.add_argument("-I", dest="include", action="append", default=[], metavar="DIR")
    parser.add_argument("-D", dest="macros", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument("--out", type=Path, help="a folder for results.jsonl; continues there")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--time", action="store_true", help="measure; needs a quiet machine")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nest-time-limit", type=parse_duration, default="300s")
    parser.add_argument("--file-time-limit", type=parse_duration, default="120s")
    return parser


def main() -> int:
    """Look at what is not there yet, and report."""
    options = _parser().parse_args()
    warnings.simplefilter("ignore", LongWaitWarning)  # a line tells what each nest came to
    asked = CoverageOptions(
        options.threads, options.time, options.file_time_limit, options.nest_time_limit
    )
    targets = _chosen(targets_of(options.folder, options.include, options.macros), options.only)
    setting = {"folder": str(options.folder.resolve()), "threads": asked.threads,
               "timed": asked.is_timed}  # fmt: skip
    journal = open_journal(options.out, setting)
    for number, target in enumerate(targets, start=1):
        for row in look_at(target, asked, journal):
            state = row.equal or row.legal or row.modelled
            print(
                f"{number}/{len(targets)} {row.file}:{row.line} {row.nest}: {state}",
                file=sys.stderr, flush=True,
            )  # fmt: skip
    rows = journal.sorted_rows([target.name for target in targets])
    print(json.dumps(to_json(rows), indent=1) if options.json else text_report(rows))
    return int(any(row.is_defect for row in rows))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PolygymError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
