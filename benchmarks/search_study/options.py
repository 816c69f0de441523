"""The options of the study: a parser with a command for every part."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from polybench import Dataset
from polygym.durations import parse_duration
from search_study import contenders, programs, ranking
from search_study.search_run import STARTS

Part: TypeAlias = Callable[[argparse.Namespace], int]
"""Does one part of the study with its options, and returns an exit code."""

_SIZES = [size.name.lower() for size in Dataset]


def parser_of(parts: Mapping[str, Part], description: str | None) -> argparse.ArgumentParser:
    """Return the parser, whose ``part`` is the function of the part that is asked for."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=raw)
    commands = parser.add_subparsers(required=True, metavar="PART")
    for name, (says, add_options) in _PARTS.items():
        argument_parser = commands.add_parser(name, help=says, description=says)
        argument_parser.set_defaults(part=parts[name])
        argument_parser.add_argument(
            "--out", type=Path, required=True, help="a folder for what is found"
        )
        add_options(argument_parser)
    return parser


def _search(parser: argparse.ArgumentParser) -> None:
    named = ", ".join((*contenders.FIGURES, *contenders.CONTENDERS))
    parser.add_argument(
        "contenders", nargs="*", default=list(contenders.DEFAULT_CONTENDERS), metavar="CONTENDER",
        help=f"of {named}; default: {', '.join(contenders.DEFAULT_CONTENDERS)}",
    )  # fmt: skip
    parser.add_argument(
        "--programs", nargs="+", default=list(programs.DEFAULT_GROUPS), metavar="PROGRAM",
        help=f"groups ({', '.join(programs.GROUPS)}), C1 to C12, kernels, files, random:17",
    )  # fmt: skip
    parser.add_argument("--trials", type=_positive, default=64)
    _add_seeds(parser, 5)
    parser.add_argument("--threads", type=_positive, default=2)
    parser.add_argument("--start", choices=STARTS, default="naive")
    parser.add_argument("--dataset", choices=_SIZES, default="medium", help="sizes of kernels")
    parser.add_argument("--time-limit", type=parse_duration, help="start no search after this time")


def _finals(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "programs", nargs="*", metavar="PROGRAM", help="only these; default: all that were searched"
    )
    parser.add_argument(
        "--time-limit", type=parse_duration, help="start no program after this time"
    )


def _report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with", dest="packed", type=Path, action="append", default=[], metavar="FILE",
        help="packed searches too, of other machines; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--pack", type=Path, metavar="FILE", help="write all searches to a small file"
    )


def _invariance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, help="instead of the one that comes with polygym")
    parser.add_argument(
        "--machine",
        help="the kind of machine, if there are several; of polygym's corpus one like this",
    )
    _add_seeds(parser, 5)
    parser.add_argument("--cases", type=_positive, help="only the first so many")


def _unseen(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, help="instead of the one that comes with polygym")
    parser.add_argument(
        "--machine", action="append", help="a kind of machine; several count together"
    )
    _add_seeds(parser, 5)


def _ranks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("programs", nargs="*", default=list(ranking.KERNELS), metavar="PROGRAM")
    parser.add_argument("--count", type=_positive, default=1000, help="episodes that are played")
    parser.add_argument(
        "--measured", type=_positive, default=1000, help="schedules beside the first"
    )
    _add_seeds(parser, 1)
    parser.add_argument("--threads", type=_positive, default=2)
    parser.add_argument("--dataset", choices=_SIZES, default="medium", help="sizes of kernels")


def _gains(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("programs", nargs="*", default=["all"], metavar="PROGRAM")
    parser.add_argument("--trials", type=_positive, default=256)
    parser.add_argument("--search", default="model", help="as in `polygym tune`")
    _add_seeds(parser, 1)
    parser.add_argument("--threads", type=_positive, default=2)
    parser.add_argument("--dataset", choices=_SIZES, default="large", help="sizes of kernels")


def _layers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("layers", nargs="*", default=list(programs.LAYERS), metavar="LAYER")
    parser.add_argument("--trials", type=_count, default=0, help="of a search; 0: no search")
    parser.add_argument("--search", default="model", help="as in `polygym tune`")
    parser.add_argument("--threads", type=_positive, default=2)
    parser.add_argument("--rounds", type=_positive, default=15)
    parser.add_argument("--tvm", action="store_true", help="TVM's tuner too, for as many trials")


def _add_seeds(parser: argparse.ArgumentParser, usual: int) -> None:
    parser.add_argument(
        "--seeds", type=_positive, default=usual, help=f"how many; default: {usual}"
    )
    parser.add_argument(
        "--first-seed", type=_count, default=0, metavar="K", help="from this one on; default: 0"
    )


def seeds_of(options: argparse.Namespace) -> range:
    """Return the seeds that are asked for."""
    return range(options.first_seed, options.first_seed + options.seeds)


def _count(text: str) -> int:
    if (value := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"expected a number from 0 on, found {text}")
    return value


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, found {text}")
    return value


_PARTS = {
    "search": ("search programs, trial by trial", _search),
    "finals": ("measure what searches held again, all in turn", _finals),
    "report": ("say what searches have found, and draw it", _report),
    "invariance": ("ask how far what is learned holds, by what a model is shown", _invariance),
    "unseen": ("ask about kernels what has learned from random programs", _unseen),
    "ranks": ("measure what is ranked first of many random schedules", _ranks),
    "gains": ("search, and measure the best beside what there was to begin with", _gains),
    "layers": ("put C1 to C12 beside PyTorch", _layers),
}
"""What each part does, in words, and its options."""
