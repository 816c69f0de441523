"""The entry point of the ``polygym`` command.

It imports next to nothing, so that there is somebody to handle Ctrl-C from the first moment on.
What the command does stands in :mod:`polygym.cli.dispatch`.
"""

import os
import sys

_EXIT_USAGE = 2
_EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command and exit with its code."""
    as_json = "--json" in sys.argv[1:]
    try:
        from polygym.cli.interrupts import exit_on_interrupt

        exit_on_interrupt(as_json)
    except KeyboardInterrupt:
        if as_json:
            print('{"error": "interrupted"}', flush=True)
        else:
            print("interrupted", file=sys.stderr)
        sys.exit(_EXIT_INTERRUPTED)
    sys.exit(_main(sys.argv[1:]))


def _main(arguments: list[str]) -> int:
    if 1 in _open_missing_streams():
        print("error: cannot write the output: standard output is closed", file=sys.stderr)
        return _EXIT_USAGE
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")  # whatever the terminal's encoding lacks
    from polygym.cli.dispatch import run

    return run(arguments)


def _open_missing_streams() -> list[int]:
    """Open /dev/null in place of standard streams that are closed; return which those were.

    Otherwise the next file or socket to be opened would become, say, standard error.
    """
    missing = []
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            missing.append(descriptor)
    if 2 in missing:
        sys.stderr = open(2, "w", closefd=False)
    return missing
