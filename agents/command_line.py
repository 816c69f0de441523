"""Common parts of the commands that learn from corpora: help, options, folders, exit codes."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from polygym.cost.models.cost_model import MODEL_VERSION
from polygym.errors import InputError, PolygymError


def parser_of(name: str, docstring: str | None, corpora: Iterable[str]) -> argparse.ArgumentParser:
    """Return the parser of ``python -m agents.NAME``: the first line above, the rest below.

    ``corpora`` are what it learns from by default.
    """
    head, _, rest = (docstring or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog=f"python -m agents.{name}",
        description=head,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--corpus", type=Path, action="append", default=[], metavar="FILE", dest="corpora",
        help=f"a corpus to learn from beside those that ship with polygym ({', '.join(corpora)})",
    )  # fmt: skip
    parser.add_argument("--alone", action="store_true", help="learn from --corpus alone")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a folder for all stages"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed")
    return parser


def corpora_of(options: argparse.Namespace, shipped: Iterable[Path]) -> list[Path]:
    """Return the corpora to learn from.

    Raises:
        InputError: there are none.
    """
    files = [*([] if options.alone else shipped), *options.corpora]
    if not files:
        raise InputError("--alone: expected a --corpus, found none")
    return files


def expect_same(folder: Path, files: Sequence[Path], options: str) -> None:
    """Refuse to go on with what was begun from other corpora, options or features.

    Raises:
        InputError: the folder holds what was begun otherwise.
    """
    now = {
        "corpora": [[file.name, file.stat().st_size if file.exists() else 0] for file in files],
        "options": options,
        "features": MODEL_VERSION,
    }
    about = folder / "fit.json"
    if about.exists() and json.loads(about.read_text()) != now:
        raise InputError(
            f"{folder}: expected what was begun there, found other corpora, options or "
            "features of another version"
        )
    folder.mkdir(parents=True, exist_ok=True)
    about.write_text(json.dumps(now))


def exit_code(work: Callable[[], int | None], interrupted: str) -> int:
    """Work; return its number or 0, 1 after Ctrl-C, 2 for what cannot be done.

    ``interrupted`` is what is said after Ctrl-C. What cannot be done may be that a disk is full, or
    that a file or a folder is not where it should be.
    """
    try:
        return work() or 0
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {_error_text(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(interrupted, file=sys.stderr)
        return 1


def _error_text(error: OSError) -> str:
    if error.filename is None:
        return str(error)
    return f"{error.filename}: expected to read or write there, found: {error.strerror}"
