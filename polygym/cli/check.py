"""``polygym check``: is a schedule legal?"""

from __future__ import annotations

import click

from polygym.cli.options import (
    TARGET_HELP,
    function_option,
    json_option,
    resolve_schedule,
    target_argument,
)
from polygym.cli.output import print_json
from polygym.poly.legality import find_violation
from polygym.programs import load_scop


@click.command("check", epilog=TARGET_HELP)
@target_argument
@function_option
@click.option(
    "--schedule",
    "schedule_text",
    required=True,
    metavar="TEXT|FILE|original|isl",
    help="The schedule: isl text, a file with it, or a name.",
)
@json_option
def command(target: str, region: str | None, schedule_text: str, as_json: bool) -> int:
    r"""Say whether a schedule is legal; if not, which dependence it breaks and where.

    The answer is exact and holds for all parameter values. Exit code 0: legal; 1: illegal.

    \b
    Example:
      polygym check gemm --schedule '{ S0[i,j] -> [i,j,0,0]; S1[i,k,j] -> [i,j,1,k] }'
    """
    scop = load_scop(target, region)
    schedule = resolve_schedule(schedule_text, scop)
    violation = find_violation(scop, schedule)
    if as_json:
        print_json(
            {
                "legal": violation is None,
                "schedule": str(schedule),
                "violation": None
                if violation is None
                else {
                    "message": str(violation),
                    "source": violation.dependence.source,
                    "sink": violation.dependence.sink,
                    "kinds": list(violation.dependence.kind.names()),
                    "arrays": list(violation.dependence.arrays),
                    "relation": violation.dependence.relation,
                    "dimension": violation.dimension,
                    "parameters": violation.parameters,
                    "source_instance": list(violation.source_instance),
                    "sink_instance": list(violation.sink_instance),
                },
            }
        )
    elif violation is None:
        click.secho("legal", fg="green", bold=True)
    else:
        click.secho("illegal", fg="red", bold=True, nl=False)
        click.echo(f": {violation}")
    return 0 if violation is None else 1
