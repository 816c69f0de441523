"""``polygym serve``: programs transformed and measured by another process, such as a model."""

import os
from pathlib import Path

import click

from polygym.cli.options.values import bytes_option, count_option, duration_option
from polygym.text_interface.server.limits import ServerLimits

_HELP = """Serve tools that transform and measure programs, over standard input and output.

A language model, or any other client, loads programs, takes steps by lines of text, and reads
replies: loops with names, dependences, counterexamples, times. `--protocol mcp` speaks the Model
Context Protocol; `--protocol json` reads a JSON object a line and writes one.

Clients read files below --root only. Code runs in a worker process, under limits.

\b
Examples:
  polygym serve --root src
  polygym serve --protocol json --threads 2 --evaluations 50
"""

_DEFAULT = ServerLimits()


@click.command("serve", help=_HELP)
@click.option(
    "--protocol",
    type=click.Choice(["mcp", "json"]),
    default="mcp",
    show_default=True,
    help="The protocol: Model Context Protocol, or JSON lines.",
)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder below which clients may name files. (Default: no files.)",
)
@count_option("--threads", default=_DEFAULT.threads, help="Threads that code may use at most.")
@count_option("--sessions", default=_DEFAULT.sessions, help="Sessions at a time.")
@count_option("--evaluations", default=_DEFAULT.evaluations, help="Evaluations of a session.")
@duration_option("--time-limit", default="10m", help="Work of a session at most.")
@duration_option("--measure-time-limit", default="60s", help="Time of one measurement at most.")
@bytes_option("--memory-limit", default="1GiB", help="Memory of a program's arrays at most.")
def command(
    protocol: str,
    root: Path | None,
    threads: int,
    sessions: int,
    evaluations: int,
    time_limit: float,
    measure_time_limit: float,
    memory_limit: int,
) -> None:
    """Serve one client until it leaves."""
    limits = ServerLimits(
        root=root,
        threads=threads,
        sessions=sessions,
        evaluations=evaluations,
        seconds=time_limit,
        measure_seconds=measure_time_limit,
        memory=memory_limit,
    )
    if protocol == "mcp":
        from polygym.text_interface.server.mcp_tools import serve_mcp

        serve_mcp(limits)
        return
    from polygym.text_interface.server.json_lines import serve_json_lines

    # What is printed by accident must not get between the replies.
    source, output = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve_json_lines(source, output, limits)
