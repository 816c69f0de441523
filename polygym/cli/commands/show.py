"""``polygym show``: what polygym understands of a program."""

from __future__ import annotations

from typing import Any

import click

from polygym.cli.answer import Answer
from polygym.cli.options import (
    TARGET_HELP,
    chosen_mapping,
    function_option,
    json_option,
    mapping_option,
    parameters_option,
    reassociate_option,
    target_argument,
    threads_option,
)
from polygym.cli.output import heading, say
from polygym.cli.schedules import schedule_maker
from polygym.cli.splitting import Cutter, split_option
from polygym.cli.storing import StorageChoice, changed, storage_option
from polygym.cli.text import shorten
from polygym.compiler.codegen.c_printer import print_c
from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.codegen.contraction import legal_under
from polygym.compiler.codegen.loops.private import private_figures, private_texts
from polygym.compiler.codegen.passes import PASSES
from polygym.compiler.codegen.pipeline import lower
from polygym.compiler.codegen.stages import Stage, list_of_passes, pass_named, stage_after
from polygym.compiler.frontend.c import completed_file
from polygym.compiler.ir.scop import Array, Scop, Statement
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.dependences import Dependence, dependences
from polygym.compiler.poly.evaluate import admits
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.errors import InputError
from polygym.measure.evaluation.patience import code_within
from polygym.programs import is_path, load_scop
from polygym.programs.wording import conditions_of, without_parameters

_HELP = """Print parameters, statements, dependences, the schedule and its C code.

The C function computes exactly what the machine code does; `--c` prints it alone. In JSON it is the
member `c`. It is for all sizes, or for those of `-p` if all of them are given.

`--wrap` prints a C file with a function around its region and all declarations, if it has none.

`--after` shows how code comes about, pass by pass:

\b
  polygym show gemm --after list
  polygym show gemm --schedule isl --mapping default --after plan
  polygym show gemm --mapping 'tile=32 unroll_jam=4' --after unroll_jam
  polygym show gemm --mapping default --after optimise > gemm.ll
"""


@click.command("show", help=_HELP, epilog=TARGET_HELP)
@target_argument
@function_option
@click.option(
    "--schedule",
    "schedule_text",
    default="original",
    show_default=True,
    metavar="original|isl|auto|FILE|TEXT",
    help="Whose C to show: the source's order, isl's, the one of a few that a model takes for the "
    "best, or one from a file or isl text.",
)
@click.option("--c", "only_c", is_flag=True, help="Print the C function alone, to save or compile.")
@click.option(
    "--wrap",
    is_flag=True,
    help="Print the C file as it is read: with a function around a region that stands in none, and "
    "everything declared.",
)
@click.option(
    "--after",
    metavar="PASS|list",
    help="Print what a pass of code generation leaves, and nothing else: the tree of the schedule, "
    "the loops as C, or LLVM IR; `list` prints the passes. (See docs/schedules.md.)",
)
@storage_option("keep, or what the schedule's file has")
@split_option("none, or what the schedule's file has")
@mapping_option("sequential")
@threads_option
@reassociate_option
@parameters_option
@json_option
def command(
    target: str,
    region: str | None,
    schedule_text: str,
    only_c: bool,
    wrap: bool,
    after: str | None,
    storage: StorageChoice | None,
    cutter: Cutter | None,
    mapping: Mapping | None,
    threads: int,
    parameters: dict[str, int],
    as_json: bool,
) -> Answer:
    """Print what polygym understands of a program, or what code generation makes of it."""
    if wrap and (only_c or after is not None):
        raise click.UsageError("--wrap: expected without --c and --after.")
    if wrap:
        return _wrapped(target, region, as_json=as_json)
    if only_c and after is not None:
        raise click.UsageError("--c and --after: expected one of them.")
    if after == "list":
        return _passes(as_json=as_json)
    shown = None if after is None else pass_named(after)
    written = load_scop(target, region, parameters)
    sizes = _sizes(written, parameters)
    program = changed(written, cutter, storage, schedule_text, sizes)
    scop = program.scop
    chosen = chosen_mapping(mapping, SEQUENTIAL, threads)
    schedule = schedule_maker(schedule_text)(scop, sizes, chosen).schedule

    def legal() -> LegalSchedule:
        return legal_under(program.plan, scop, schedule)

    if shown is not None:
        stage = code_within(lambda: _stage(stage_after(shown, legal(), chosen, sizes)))
        if as_json:
            return Answer(document=stage)
        click.echo(stage["text"], nl=False)
        return Answer()
    code = code_within(lambda: _c_text(legal(), chosen, sizes))
    if only_c and not as_json:
        click.echo(code, nl=False)
        return Answer()
    found = dependences(scop)
    if as_json:
        return Answer(document=_as_json(scop, found, schedule, code) | program.to_json())
    _print(scop, found, schedule_text, schedule, code)
    return Answer()


def _wrapped(target: str, region: str | None, *, as_json: bool) -> Answer:
    """Print a C file in full."""
    if not is_path(target) or target.endswith(".tc"):
        raise InputError(f"--wrap: expected the path of a C file, found {target}")
    text = completed_file(target, region).text
    if as_json:
        return Answer(document={"file": target, "text": text})
    click.echo(text, nl=not text.endswith("\n"))
    return Answer()


def _passes(*, as_json: bool) -> Answer:
    """Print the passes of code generation, a line each."""
    if as_json:
        rows = [{"name": o.name, "leaves": o.leaves.value, "does": o.does} for o in PASSES]
        return Answer(document={"passes": rows})
    say(list_of_passes())
    return Answer()


def _c_text(legal: LegalSchedule, mapping: Mapping, sizes: dict[str, int] | None) -> str:
    """Return the C function of a schedule."""
    loops = lower(legal, mapping, sizes)
    # What was done may be less than what was asked for.
    done = "" if loops.mapping == SEQUENTIAL else f", {loops.mapping}"
    said = "".join(f"; {text}" for text in private_texts(private_figures(loops)))
    return print_c(loops, f"{legal.scop.name}: {legal.schedule}{done}{said}")


def _stage(stage: Stage) -> dict[str, Any]:
    """Return what there is after a pass, as JSON has it."""
    legal = stage.goal.legal
    return {
        "name": legal.scop.name,
        "schedule": str(legal.schedule),
        "mapping": str(stage.asked),
        "simplified": stage.asked.simplified(stage.goal.mapping),
        "after": stage.after.name,
        "does": stage.after.does,
        "leaves": stage.after.leaves.value,
        "changed": stage.changed,
        "text": stage.text,
    }


def _sizes(scop: Scop, parameters: dict[str, int]) -> dict[str, int] | None:
    """Return the sizes for which the C is to be, None for all."""
    if not parameters or len(parameters) < len(scop.parameters):
        return None
    if not admits(scop.context, parameters):
        raise InputError(
            f"{scop.name} is not defined for these sizes: it needs {conditions_of(scop.context)}"
        )
    return parameters


def _as_json(
    scop: Scop, found: tuple[Dependence, ...], schedule: Schedule, code: str
) -> dict[str, Any]:
    return {
        "name": scop.name,
        "file": scop.file,
        "parameters": [{"name": p.name, "type": p.type.value} for p in scop.parameters],
        "context": scop.context,
        "conditions": list(scop.conditions),
        "arrays": [
            {
                "name": array.name,
                "type": array.type.value,
                "extents": list(array.extents_c),
                "storage": array.storage.value,
                "live_out": array.live_out,
            }
            for array in scop.arrays
        ],
        "statements": [
            {
                "name": statement.name,
                "iterators": list(statement.iterators),
                "domain": statement.domain,
                "text": statement.text,
                "line": statement.place.line,
                "write": statement.write.relation,
                "reads": [access.relation for access in statement.reads],
            }
            for statement in scop.statements
        ],
        "dependences": [
            {
                "source": dependence.source,
                "sink": dependence.sink,
                "kinds": list(dependence.kind.names()),
                "arrays": list(dependence.arrays),
                "relation": dependence.relation,
            }
            for dependence in found
        ],
        "original": scop.schedule,
        "schedule": str(schedule),
        "c": code,
    }


def _print(
    scop: Scop, found: tuple[Dependence, ...], name: str, schedule: Schedule, code: str
) -> None:
    heading(f"{scop.name} ({scop.file})")
    parameters = ", ".join(f"{p.type.value} {p.name}" for p in scop.parameters)
    say(f"  parameters  {parameters or 'none'}")
    say(f"  context     {conditions_of(scop.context) or 'any values'}")
    for condition in scop.conditions:
        say(f"  needs       {condition}")
    say(f"  arrays      {', '.join(_array(array) for array in scop.arrays)}")
    heading("\nStatements")
    for statement in scop.statements:
        _print_statement(statement)
    heading(f"\nDependences ({len(found)})")
    for position, dependence in enumerate(found):
        kinds = ", ".join(dependence.kind.names())
        say(
            f"  D{position} {dependence.source} -> {dependence.sink}  {kinds} on "
            f"{', '.join(dependence.arrays)}"
        )
        say(f"     {without_parameters(dependence.relation)}")
    ordered = original(scop)
    heading("\nOriginal schedule")
    say(f"  {without_parameters(str(ordered))}")
    if schedule != ordered:
        heading(f"\nSchedule: {shorten(name, 60)}")
        say(f"  {without_parameters(str(schedule))}")
    heading("\nC")
    say(code, newline=False)


def _array(array: Array) -> str:
    sizes = "".join(f"[{extent}]" for extent in array.extents_c)
    return f"{array.type.value} {array.name}{sizes}{' (out)' if array.live_out else ''}"


def _print_statement(statement: Statement) -> None:
    say(f"  {statement.name}: {statement.text}    (line {statement.place.line})")
    say(f"     domain {without_parameters(statement.domain)}")
    say(f"     writes {without_parameters(statement.write.relation)}")
    for relation in dict.fromkeys(access.relation for access in statement.reads):
        say(f"     reads  {without_parameters(relation)}")
