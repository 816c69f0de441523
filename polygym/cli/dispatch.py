"""From the words of a command line to an exit code: call the command, write what it answers.

Exit codes: 0, it worked; 1, the answer is no (an illegal schedule, a wrong output, a crash of the
program that was run); 2, it could not be asked (wrong usage, a file that is refused, an output that
cannot be written). An interrupt by Ctrl-C ends with 130, a reader that left with 141.

Under ``--json`` standard output gets exactly one document, whatever happens: the command's, or
``{"error": message}``. That holds because commands return their document and :func:`run` writes it
after it has begun to ignore Ctrl-C.
"""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import click

from polygym.cli import interrupts
from polygym.cli.failures import EXIT_USAGE, error_report
from polygym.cli.group import polygym
from polygym.cli.output import console
from polygym.errors import PolygymError

_NOBODY_READS = 141


def run(arguments: list[str]) -> int:
    """Run a command line and return the exit code; from then on Ctrl-C is ignored.

    The caller is about to end the process: there is nothing left to interrupt.
    """
    interrupts.exit_on_interrupt("--json" in arguments)
    try:
        answer = _call(arguments)
        interrupts.ignore_interrupts()
    except BrokenPipeError:
        interrupts.ignore_interrupts()
        _discard_output()
        return _NOBODY_READS
    except (Exception, KeyboardInterrupt) as error:
        interrupts.ignore_interrupts()
        answer = _explain(error, "--json" in arguments)
    return _write(answer)


def run_script(
    command: click.Command, arguments: Sequence[str] | None = None, name: str | None = None
) -> int:
    """Run the command of a script, and return the exit code: 2 for what cannot be done."""
    try:
        command.main(arguments, name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except PolygymError as error:
        console.write_text(f"error: {error}", err=True)
        return EXIT_USAGE
    return 0


def _call(arguments: list[str]) -> console.CommandResult:
    """Call the command.

    Not through click's own ``main``, which ends the process itself where nobody reads the output.
    """
    try:
        with _plain_warnings(), polygym.make_context("polygym", list(arguments)) as context:
            result = polygym.invoke(context)
    except click.exceptions.Exit as leave:  # after --help and --version
        return console.CommandResult(leave.exit_code)
    return result if isinstance(result, console.CommandResult) else console.CommandResult()


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Inside, a warning is said once and in one line, without the line of Python that gave it."""
    usual, said = warnings.formatwarning, set[str]()

    def plain(message: Warning | str, *_: object, **__: object) -> str:
        text = console.printable(f"warning: {message}\n")
        is_new = text not in said
        said.add(text)
        return text if is_new else ""

    warnings.formatwarning = plain
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _explain(error: BaseException, as_json: bool) -> console.CommandResult:
    """Say on standard error what went wrong, or return it as a document."""
    failure = error_report(error)
    if as_json:
        return console.CommandResult(failure.code, {"error": failure.message})
    _complain(failure.label, failure.text or failure.message)
    return console.CommandResult(failure.code)


def _complain(label: str, text: str) -> None:
    """Write to standard error; where that is impossible too, the exit code has to do."""
    with suppress(OSError):
        if label:
            console.write_verdict(label, text, err=True)
        else:
            console.write_text(text, err=True)


def _write(answer: console.CommandResult) -> int:
    """Write the document, see to it that everything is written, and return the exit code."""
    try:
        if answer.document is not None:
            console.print_json(answer.document)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return _NOBODY_READS
    except OSError as error:
        _discard_output()
        if answer.document is not None or answer.code < EXIT_USAGE:
            _complain("error: ", f"cannot write the output: {error.strerror}")
            return EXIT_USAGE
    return answer.code


def _discard_output() -> None:
    """Let go of what could not be written: the interpreter would try it again as it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
