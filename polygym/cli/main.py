"""The ``polygym`` command: finds the subcommand, and turns errors into messages and exit codes.

Exit codes: 0, it worked; 1, the answer is no (an illegal schedule, a wrong output, a crash of the
program that was run); 2, it could not be asked (wrong usage, a file that is refused). An interrupt
by Ctrl-C ends with 130.
"""

from __future__ import annotations

import importlib
import os
import sys

import click

from polygym import __version__
from polygym.errors import IllegalScheduleError, PolygymError, SourceError

COMMANDS = {
    "kernels": "List the kernels of the suite.",
    "show": "Show what polygym understands of a program.",
    "run": "Compile a program with a schedule, run it, time it.",
    "bench": "Compare schedules of several programs.",
    "check": "Say whether a schedule is legal and, if not, why.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called: `--help` costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"polygym.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="polygym")
def polygym() -> None:
    r"""Explore the legal schedules of loop programs: compiled through LLVM, run and timed.

    A program is a kernel of PolyBench (see `polygym kernels`) or a C file of your own with the
    loops between `#pragma scop` and `#pragma endscop`.

    \b
    Start here:
      polygym show gemm                          what polygym sees in a program
      polygym run gemm --dataset medium          compile it, run it, time it
      polygym run gemm --schedule isl            … in the order that isl's scheduler finds
      polygym check my.c --schedule '{ S[i,j] -> [j,i] }'    may I interchange these loops?
      polygym bench gemm mvt --schedules original,isl        which order is faster?
    """


def main() -> None:
    """Run the command and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    try:
        result = polygym.main(arguments, prog_name="polygym", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        if "--json" in arguments:
            return _report_json(error.format_message(), 2)
        error.show()
        return 2
    except PolygymError as error:
        code = 1 if isinstance(error, IllegalScheduleError) else 2
        if "--json" in arguments:
            return _report_json(str(error), code)
        if not isinstance(error, SourceError):  # which begins with its place, as compilers do
            click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(str(error), err=True)
        return code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone: nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (RecursionError, MemoryError) as error:
        click.echo(f"error: the input is too large: {type(error).__name__}", err=True)
        return 2


def _report_json(message: str, code: int) -> int:
    from polygym.cli.output import print_json

    print_json({"error": message})
    return code
