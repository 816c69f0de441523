"""Reading a file that a user named: a small regular file with text in it, or a message."""

import stat
from pathlib import Path

from polygym.cli.output.text import shorten
from polygym.errors import InputError

_LARGEST_FILE = 1


def read_small_file(
    name: str, what: str, instead: str = "a file", mebibytes: int = _LARGEST_FILE
) -> str:
    """Return the text of a file.

    What is not a small regular file is left alone: a device or a pipe may never end. ``what`` is
    meant to be in it, ``instead`` says what else the user could have written where there is none;
    small is what has so many ``mebibytes`` at most.
    """
    path = Path(name)
    shown = f"{what}: {shorten(name)}"
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError(
                f"{shown}: expected a file, found something that is not a regular file"
            )
        if found.st_size > mebibytes * 2**20:
            raise InputError(
                f"{shown}: expected a small file, found one larger than {mebibytes} MiB"
            )
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{shown}: expected {instead}; there is no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{shown}: expected UTF-8 text: {error.reason}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{shown}: cannot read it: {reason}") from None
