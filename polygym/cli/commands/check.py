"""``polygym check``: is a schedule legal?"""

from typing import Any

import click

from polygym.cli.options import common
from polygym.cli.options.schedules import schedule_maker
from polygym.cli.options.variants import VariantOptions, variant_options
from polygym.cli.output.console import CommandResult, answer, attributes, write_text, write_verdict
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.legality import Violation, find_violation
from polygym.programs import load_scop
from polygym.runtime.evaluation.time_limits import check_within

_HELP = """Say whether a schedule is legal; if not, which dependence it breaks and where.

The answer is exact and holds for all parameter values. Exit code 0: legal; 1: illegal.
Under --storage it is about the dependences that are left when arrays have other storage.
The schedule of auto depends on the sizes: give all of them by -p.

\b
Examples:
  polygym check my.c --schedule '{ S[i,j] -> [j,i] }'
  polygym check gemm --schedule \\
    '{ S0[i,j] -> [i,j,0,0]; S1[i,k,j] -> [i,j,1,k] }'
  polygym check mvt --schedule auto -p n=2000
"""


@click.command("check", help=_HELP, epilog=common.PROGRAM_HELP)
@common.program_argument
@common.function_option
@click.option(
    "--schedule",
    "schedule_text",
    required=True,
    metavar="SCHEDULE",
    help="The schedule: isl text, a file with it, or a name.",
)
@variant_options(
    "none, or what the schedule's file has",
    "keep, or what the schedule's file has",
    for_sizes=False,
)
@common.parameters_option
@common.json_option
def command(
    target: str,
    region: str | None,
    schedule_text: str,
    variant: VariantOptions,
    parameters: dict[str, int],
    as_json: bool,
) -> CommandResult:
    """Decide whether the schedule is legal."""
    written = load_scop(target, region, parameters)
    sizes = parameters if len(parameters) == len(written.parameters) else None
    program = variant.resolve(written, schedule_text, sizes)
    schedule = schedule_maker(schedule_text)(program.scop, sizes, DEFAULT_MAPPING).schedule
    violation = check_within(lambda: find_violation(program.scop, schedule))
    document = {
        "legal": violation is None,
        **program.to_json(),
        "schedule": str(schedule),
        "violation": None if violation is None else _as_json(violation),
    }
    if violation is None:
        return answer(as_json, document, lambda: write_text("legal", fg="green", bold=True))
    return answer(as_json, document, lambda: write_verdict("illegal", f": {violation}"), 1)


def _as_json(violation: Violation) -> dict[str, Any]:
    dependence = violation.dependence
    return {
        "message": str(violation),
        **attributes(dependence, "source", "sink"),
        "kinds": list(dependence.kind.names()),
        **attributes(dependence, "arrays", "relation"),
        **attributes(violation, "dimension", "parameters", "source_instance", "sink_instance"),
    }
