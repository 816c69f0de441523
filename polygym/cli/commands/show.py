"""``polygym show``: what polygym understands of a program."""

from typing import Any

import click

from polygym.cli.execution.device_session import show_for_device
from polygym.cli.execution.resolved_program import ShownTarget, resolve_shown
from polygym.cli.options import common
from polygym.cli.options.variants import VariantOptions, variant_options
from polygym.cli.output import console
from polygym.codegen.c import print_c
from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.passes import PASSES
from polygym.codegen.pipeline import lower
from polygym.codegen.stages import Stage, pass_list_text, pass_named, stage_after
from polygym.codegen.transforms.privatization import private_array_sizes, private_array_texts
from polygym.errors import InputError
from polygym.frontend.c import completed_file
from polygym.frontend.c.regions.passes import PASSES as C_PASSES
from polygym.frontend.c.regions.passes import RegionPass
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.ir.scop import Array, Scop, Statement
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.evaluation import context_holds
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import c_text_after, is_path, load_scop
from polygym.programs.isl_text import condition_text, without_parameters
from polygym.runtime.evaluation.time_limits import code_within

_HELP = """Print parameters, statements, dependences, the schedule and its C code.

The C function computes exactly what the machine code does; `--c` prints it alone. In JSON it is the
member `c`. It is for all sizes, or for those of `-p` if all of them are given: then it checks at
entry that it is called with these, and ends the program otherwise. Of a file such as `best.json`
the mapping is the one that it names, unless --mapping is given. The automatic schedule comes with
the storage and the mapping that `run --schedule auto` takes for the sizes of `-p`.

`--wrap` prints a C file with a function around its region and all declarations, if it has none.

`--after` shows how code comes about, pass by pass, from the C that is read to LLVM IR:

\b
  polygym show gemm --after list
  polygym show my.c --after desugar
  polygym show gemm --schedule isl --mapping default --after plan
  polygym show gemm --mapping 'tile=32 unroll_jam=4' --after unroll_jam
  polygym show gemm --mapping default --after optimize > gemm.ll

With `--mapping device=cuda` what is shown are kernels for a GPU as CUDA C++, and after the passes
`kernels` and `ptx` LLVM IR and PTX of them.
"""

_C_ROWS = [(row.name, row.summary) for row in C_PASSES]


@click.command("show", help=_HELP, epilog=common.PROGRAM_HELP)
@common.program_argument
@common.function_option
@click.option(
    "--schedule",
    "schedule_text",
    default="original",
    show_default=True,
    metavar="SCHEDULE",
    help="Whose C to show: the source's order, isl's, the automatic one (auto), or one from a file "
    "or isl text.",
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
    help="Print what a pass leaves, and nothing else: the C of the region, the tree of the "
    "schedule, the loops as C, or LLVM IR; `list` prints the passes. "
    "(See docs/explanation/schedules.md.)",
)
@variant_options(
    "none, or what the schedule's file has",
    "keep, or what the schedule's file has",
    for_sizes=False,
    storage_first=True,
)
@common.mapping_option(
    "sequential, what the schedule's file has, or what comes with auto", devices=True
)
@common.threads_option
@common.reassociate_option
@common.parameters_option
@common.json_option
def command(
    target: str,
    region: str | None,
    schedule_text: str,
    only_c: bool,
    wrap: bool,
    after: str | None,
    variant: VariantOptions,
    mapping: Mapping | DeviceMapping | None,
    threads: int,
    parameters: dict[str, int],
    as_json: bool,
) -> console.CommandResult:
    """Print what polygym understands of a program, or what code generation makes of it."""
    if wrap and (only_c or after is not None):
        raise click.UsageError("--wrap: expected without --c and --after.")
    if wrap:
        return _wrapped(target, region, as_json=as_json)
    if only_c and after is not None:
        raise click.UsageError("--c and --after: expected one of them.")
    if after == "list":
        return _passes(as_json=as_json)
    for row in C_PASSES:
        if row.name == after:
            return _c_stage(row, target, region, parameters, as_json=as_json)
    written = load_scop(target, region, parameters)
    sizes = _sizes(written, parameters)
    if isinstance(mapping, DeviceMapping):
        return show_for_device(
            ShownTarget(target, region, written, sizes),
            schedule_text,
            variant,
            mapping,
            after,
            as_json=as_json,
        )
    shown = None if after is None else pass_named(after, _C_ROWS)
    resolved = resolve_shown(
        ShownTarget(target, region, written, sizes), schedule_text, variant, mapping, threads
    )
    program, schedule, chosen = resolved.variant, resolved.schedule, resolved.mapping
    scop = program.scop

    def legal() -> LegalSchedule:
        return legal_with_storage(program.storage, scop, schedule)

    if shown is not None:
        stage = code_within(lambda: _stage(stage_after(shown, legal(), chosen, sizes)))
        return console.answer(as_json, stage, lambda: click.echo(stage["text"], nl=False))
    code = code_within(lambda: _c_text(legal(), chosen, sizes))
    if only_c and not as_json:
        click.echo(code, nl=False)
        return console.CommandResult()
    result = dependences(scop)
    document = _as_json(scop, result, schedule, chosen, code) | program.to_json()
    return console.answer(
        as_json, document, lambda: _print(scop, result, schedule_text, schedule, chosen, code)
    )


def _wrapped(target: str, region: str | None, *, as_json: bool) -> console.CommandResult:
    """Print a C file in full."""
    if not is_path(target) or target.endswith(".tc"):
        raise InputError(f"--wrap: expected the path of a C file, found {target}")
    text = completed_file(target, region).text
    document = {"file": target, "text": text}
    return console.answer(as_json, document, lambda: click.echo(text, nl=not text.endswith("\n")))


def _passes(*, as_json: bool) -> console.CommandResult:
    """Print the passes of the C front end and of code generation, a line each."""
    rows = [{"name": name, "leaves": "c", "does": summary} for name, summary in _C_ROWS]
    rows += [{"name": o.name, "leaves": o.produces.value, "does": o.summary} for o in PASSES]
    return console.answer(
        as_json, {"passes": rows}, lambda: console.write_text(pass_list_text(_C_ROWS))
    )


def _c_stage(
    row: RegionPass, target: str, region: str | None, parameters: dict[str, int], *, as_json: bool
) -> console.CommandResult:
    """Print the C text that a pass of the C front end leaves."""
    text = c_text_after(row, target, region, parameters)
    stage = {"name": target, "after": row.name, "does": row.summary, "leaves": "c", "text": text}
    return console.answer(as_json, stage, lambda: click.echo(text, nl=False))


def _c_text(legal: LegalSchedule, mapping: Mapping, sizes: dict[str, int] | None) -> str:
    """Return the C function of a schedule."""
    loops = lower(legal, mapping, sizes)
    # What was done may be less than what was asked for.
    done = "" if loops.mapping == SEQUENTIAL_MAPPING else f", {loops.mapping}"
    said = "".join(f"; {text}" for text in private_array_texts(private_array_sizes(loops)))
    return print_c(loops, f"{legal.scop.name}: {legal.schedule}{done}{said}", sizes=sizes)


def _stage(stage: Stage) -> dict[str, Any]:
    """Return what there is after a pass, as JSON has it."""
    legal = stage.request.legal
    return {
        "name": legal.scop.name,
        "schedule": str(legal.schedule),
        "mapping": str(stage.requested_mapping),
        "simplified": stage.requested_mapping.simplification_note(stage.request.mapping),
        "after": stage.after.name,
        "does": stage.after.summary,
        "leaves": stage.after.produces.value,
        "changed": stage.changed,
        "text": stage.text,
    }


def _sizes(scop: Scop, parameters: dict[str, int]) -> dict[str, int] | None:
    """Return the sizes for which the C is to be, None for all."""
    if not parameters or len(parameters) < len(scop.parameters):
        return None
    if not context_holds(scop.context, parameters):
        raise InputError(
            f"{scop.name} is not defined for these sizes: it needs {condition_text(scop.context)}"
        )
    return parameters


def _as_json(
    scop: Scop, relations: tuple[Dependence, ...], schedule: Schedule, mapping: Mapping, code: str
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
                "extents": list(array.c_extents),
                "storage": array.storage_class.value,
                "live_out": array.live_out,
            }
            for array in scop.arrays
        ],
        "statements": [
            {
                **console.attributes(statement, "name", "iterators", "domain", "text"),
                "line": statement.location.line,
                "write": statement.write.relation,
                "reads": [access.relation for access in statement.reads],
            }
            for statement in scop.statements
        ],
        "dependences": [
            {
                **console.attributes(dependence, "source", "sink"),
                "kinds": list(dependence.kind.names()),
                **console.attributes(dependence, "arrays", "relation"),
            }
            for dependence in relations
        ],
        "original": scop.schedule,
        "schedule": str(schedule),
        "mapping": str(mapping),
        "c": code,
    }


def _print(
    scop: Scop,
    relations: tuple[Dependence, ...],
    name: str,
    schedule: Schedule,
    mapping: Mapping,
    code: str,
) -> None:
    console.heading(f"{scop.name} ({scop.file})")
    parameters = ", ".join(f"{p.type.value} {p.name}" for p in scop.parameters)
    console.write_text(f"  parameters  {parameters or 'none'}")
    console.write_text(f"  context     {condition_text(scop.context) or 'any values'}")
    for condition in scop.conditions:
        console.write_text(f"  needs       {condition}")
    console.write_text(f"  arrays      {', '.join(_array(array) for array in scop.arrays)}")
    console.heading("\nStatements")
    for statement in scop.statements:
        _print_statement(statement)
    console.heading(f"\nDependences ({len(relations)})")
    for position, dependence in enumerate(relations):
        kinds = ", ".join(dependence.kind.names())
        console.write_text(
            f"  D{position} {dependence.source} -> {dependence.sink}  {kinds} on "
            f"{', '.join(dependence.arrays)}"
        )
        console.write_text(f"     {without_parameters(dependence.relation)}")
    ordered = original_schedule(scop)
    console.heading("\nOriginal schedule")
    console.write_text(f"  {without_parameters(str(ordered))}")
    if schedule != ordered:
        console.heading(f"\nSchedule: {console.shorten(name, 60)}")
        console.write_text(f"  {without_parameters(str(schedule))}")
    console.heading(f"\nC (mapping: {mapping})")
    console.write_text(code, newline=False)


def _array(array: Array) -> str:
    sizes = "".join(f"[{extent}]" for extent in array.c_extents)
    return f"{array.type.value} {array.name}{sizes}{' (out)' if array.live_out else ''}"


def _print_statement(statement: Statement) -> None:
    console.write_text(f"  {statement.name}: {statement.text}    (line {statement.location.line})")
    console.write_text(f"     domain {without_parameters(statement.domain)}")
    console.write_text(f"     writes {without_parameters(statement.write.relation)}")
    for relation in dict.fromkeys(access.relation for access in statement.reads):
        console.write_text(f"     reads  {without_parameters(relation)}")
