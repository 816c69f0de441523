"""The command ``polygym`` as click knows it: its help, and subcommands imported when called.

Groups of commands that are imported when they are called: ``--help`` costs nothing.
"""

import gc
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import click

from polygym.version import __version__


class LazyGroup(click.Group):
    """A group whose commands stand in modules of a package, each as its ``command``.

    ``summaries`` has a sentence about each, in the order of use; ``aliases`` has the modules of
    those commands that are not in a module of their name.
    """

    def __init__(
        self,
        *arguments: Any,
        package: str,
        summaries: Mapping[str, str],
        aliases: Mapping[str, str] = MappingProxyType({}),
        **named: Any,
    ) -> None:
        """Keep where the commands are."""
        super().__init__(*arguments, **named)
        self._package, self._summaries, self._aliases = package, dict(summaries), dict(aliases)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of use."""
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in self._summaries:
            return None
        with _without_collecting():
            name = self._aliases.get(cmd_name, cmd_name)
            module = importlib.import_module(f"{self._package}.{name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the arguments; suggest one where none has that name.

        Raises:
            click.UsageError: no command has that name.
        """
        name = args[0]
        if name not in self._summaries and not name.startswith("-"):
            close = get_close_matches(name, self._summaries, 1, 0.7)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Inside, nobody looks for garbage, which would take a tenth more: what is imported stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


COMMANDS = {
    "kernels": "List the kernels of the suite.",
    "scan": "Find the loops of files and projects that can be optimised.",
    "profile": "Run a program, and tell which of its loops take the time.",
    "show": "Show what polygym understands of a program.",
    "run": "Compile a program with a schedule, run it, time it.",
    "bench": "Compare schedules of several programs.",
    "check": "Say whether a schedule is legal and, if not, why.",
    "explain": "Explain a schedule as a sequence of loop transformations.",
    "space": "Describe a program's schedule space: vertices and rays.",
    "storage": "List what may become of a program's arrays.",
    "optimize": "Search for a faster schedule and mapping of a program.",
    "tune": "The same as optimize.",
    "export": "Write the fast loops as an object, a library, C or Python.",
    "apply": "Change a C file so that it calls the fast loops.",
    "sweep": "Search many programs with several policies; can be continued.",
    "report": "Draw what a sweep has found: a page and pictures.",
    "replay": "Play a found schedule again, check it, measure it.",
    "train": "Train an agent as a YAML file describes it.",
    "evaluate": "Let trained agents or rules act on programs.",
    "compare": "Compare agents: means with intervals.",
    "validate": "Play results of agents again, and check them.",
    "film": "Write one episode of an agent as a film.",
    "collect": "Measure many candidates of many programs, to learn from.",
    "corpus": "Look at what was collected; check, merge, export it.",
    "cost": "Make models of cost from a corpus; look at them.",
    "machine": "Show the measured peaks of this machine.",
    "rewrite": "Rewrite terms by rules into cheaper ones, step by step.",
    "graph": "Optimise whole models as tensor graphs; run and compare them.",
    "cluster": "Show the state of the nodes of a Ray cluster.",
    "serve": "Serve tools that transform and measure programs, for language models.",
    "cache": "List, move or forget compiled comprehensions.",
}

_AGENT_COMMANDS = ("train", "evaluate", "compare", "validate", "film")

# In help texts \b keeps the lines of a paragraph as they are.
_HELP = """Explore the legal schedules of loop programs: compiled through LLVM, run and timed.

A program is a kernel of PolyBench (see `polygym kernels`), a C file of your own, or a tensor
comprehension: a `.tc` file, or one of the library's, such as tc:matmul.

\b
Start here:
  polygym scan src                     which of my loops can be optimised?
  polygym show gemm                    what polygym sees in a program
  polygym run gemm --dataset medium    compile it, run it, time it
  polygym run gemm --schedule isl      in the order that isl's scheduler finds
  polygym bench gemm mvt               which order is faster?
  polygym check my.c --schedule '{ S[i,j] -> [j,i] }'
                                       may I interchange these loops?
  polygym explain gemm                 which transformations did isl make?
  polygym space gemm                   vertices and rays of legal schedules
  polygym optimize gemm --budget 200 --out found
                                       search them for a faster one
  polygym tune tc:matmul --threads 2   tiles, vectors, threads as well
  polygym replay found/best.json       check and measure what was found
  polygym rewrite optimize '(mul (add x y) (add x y))'
                                       a term, cheaper by rules
  polygym graph optimize model.onnx    whole models, as graphs of operators
"""


@click.group(
    cls=LazyGroup,
    package="polygym.cli.commands",
    summaries=COMMANDS,
    aliases={"tune": "optimize"} | {name: f"agents.{name}" for name in _AGENT_COMMANDS},
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="polygym")
def polygym() -> None:
    """Hold the subcommands; the help text stands above."""
