"""``polygym run``: compile a program with a schedule, run it, check it, time it."""

import time
from dataclasses import asdict, replace
from typing import Any

import click

from polybench import Dataset
from polygym.cli.execution.resolved_program import resolve_program
from polygym.cli.options import common
from polygym.cli.options.values import bytes_option, count_option
from polygym.cli.options.variants import VariantOptions, storage_figures, variant_options
from polygym.cli.output import console
from polygym.cli.output.array_figures import array_figures, non_finite_arrays, non_finite_remark
from polygym.cli.output.bench_table import speedup_of
from polygym.cli.output.limits import known_limit, limit_sentence, limit_share
from polygym.codegen.transforms.privatization import private_array_texts
from polygym.cost.limit.bound import Limit
from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.poly.transform.storage.memory_cost import format_bytes
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.programs import Program, load_program
from polygym.runtime.evaluation.compilation import compile_problem, compile_schedule
from polygym.runtime.evaluation.time_limits import code_within
from polygym.runtime.worker import timing
from polygym.runtime.worker.outcome import Ok, Outcome, ProblemError, outcome_to_json
from polygym.runtime.worker.problem import CompiledProgram, Problem
from polygym.runtime.worker.worker import Worker

_HELP = """Compile, run and time a program, and compare its output with the original order's.

A schedule other than the original is timed in turn with it, in one process and by one clock.
Exit code 1: the program crashed, took too long, or computed something else.

\b
Examples:
  polygym run gemm --dataset small
  polygym run my.c -p n=500 --schedule '{ S0[i,j] -> [j,i] }'
  polygym run gemm --schedule isl --json > result.json
  polygym run gramschmidt --schedule auto --threads 2
  polygym run jacobi-2d --schedule 'isl fusion=maximum skew=off'
  polygym run gemm --schedule result.json
  polygym run floyd-warshall --split auto --schedule isl
"""
_MEASURING = timing.MeasureOptions(time_limit=timing.GENEROUS_LIMIT)
_KEEPING = replace(_MEASURING, keep_contents=True)

# What takes less memory is not worth a word beforehand.
_MUCH_MEMORY = 2**30


@click.command("run", help=_HELP, epilog=common.PROGRAM_HELP)
@common.program_argument
@common.function_option
@common.size_options
@click.option(
    "--schedule",
    "schedule_text",
    default="original",
    show_default=True,
    metavar="SCHEDULE",
    help="original, isl (also with options such as fusion=minimum or skew=off), auto (the choice "
    "of cost models, with --storage and --split if they are not given), isl text, or a file of isl "
    "text or of `run --json` (docs/explanation/schedules.md).",
)
@count_option(
    "--repeat", most=1000, default=4, help="How often to run it; the time is the smallest."
)
@bytes_option(
    "--memory-limit", least=1, help="Limit of the program's data. (Default: the free memory.)"
)
@variant_options(
    "what the schedule's file has; decided with --schedule auto, unless --storage is given; "
    "else none",
    "what the schedule's file has; model with --schedule auto, unless --split is given; else keep",
    storage_first=True,
)
@common.mapping_options
@common.json_option
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    schedule_text: str,
    variant: VariantOptions,
    mapping: Mapping | None,
    threads: int,
    repeat: int,
    memory_limit: int | None,
    as_json: bool,
) -> console.CommandResult:
    """Compile the program, run it, and describe what it left."""
    program = load_program(target, function=region, dataset=dataset, parameters=parameters)
    resolved = resolve_program(program, schedule_text, variant, mapping, threads)
    program, given, mapping = resolved.program, resolved.given, resolved.mapping
    schedule, is_original = given.schedule, resolved.is_original
    start = time.perf_counter()
    with console.spinner("compiling"):
        problem, candidate = code_within(
            lambda: _compiled(program, schedule, None if is_original else mapping)
        )
    compile_seconds = time.perf_counter() - start
    if problem.memory >= _MUCH_MEMORY:
        gigabytes = [
            f"{size / 1e9:,.1f} GB" for size in (problem.memory, timing.available_memory())
        ]
        console.write_text("to run it takes {} of memory, {} are free".format(*gigabytes), err=True)
    options = timing.WorkerOptions(memory_limit=memory_limit)
    with Worker(options) as worker, console.spinner(f"running {program.name}"):
        other = None if is_original else candidate
        baseline, outcome, arrays = _measured(program, worker, problem, other, repeat)
    mappings = (mapping, mapping if is_original else candidate.applied_mapping)
    report = _report(program, schedule, mappings, baseline, outcome, compile_seconds, arrays)
    report |= {"memory_bytes": problem.memory, "choice": given.to_json()}
    report["private"] = dict(candidate.private_bytes)
    limit = known_limit(mapping, program)
    report["limit"] = None if limit is None else limit.to_json()
    if limit is not None and isinstance(outcome, Ok):
        report["share_of_limit"] = limit_share(limit, outcome.best)
    code = 0 if isinstance(outcome, Ok) else 1
    return console.answer(as_json, report, lambda: _print(report, outcome, limit), code)


def _compiled(
    program: Program, schedule: Schedule, mapping: Mapping | None
) -> tuple[Problem, CompiledProgram]:
    """Compile the original order, and the schedule under a mapping unless that is none."""
    problem = compile_problem(program)
    if mapping is None:
        return problem, problem.original
    return problem, compile_schedule(program, schedule, mapping)


def _measured(
    program: Program,
    worker: Worker,
    problem: Problem,
    candidate: CompiledProgram | None,
    repeat: int,
) -> tuple[Outcome, Outcome, list[dict[str, Any]]]:
    """Run the original order, and a candidate in turn with it if there is one.

    Returns the original's outcome, the candidate's or again the original's, and what outputs hold.
    """
    try:
        if candidate is None:
            session = worker.open(problem, timing.Repetition(minimum=repeat, minimum_seconds=0.0))
            return session.baseline, session.baseline, array_figures(program, session)
        session = worker.open(problem, timing.Repetition(minimum=1))
        both = (problem.original, candidate)
        baseline, outcome = session.measure_together(both, repeat, _MEASURING)
        if not isinstance(outcome, Ok):
            return baseline, outcome, []
        # Bit for bit what the original leaves, if it is compared so: that is what Ok means.
        is_close = candidate.tolerance is not None
        if is_close:
            session.measure(candidate, replace(_KEEPING, repetition=timing.ONCE))
        return baseline, outcome, array_figures(program, session, is_close)
    except ProblemError as error:
        return error.outcome, error.outcome, []


def _report(
    program: Program,
    schedule: Schedule,
    mappings: tuple[Mapping, Mapping | None],
    baseline: Outcome,
    outcome: Outcome,
    compile_seconds: float,
    arrays: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return everything that `--json` prints; of the mappings one was asked for, one was done."""
    mapping, done = mappings
    return {
        "program": program.name,
        "function": program.scop.name,
        "parameters": dict(program.parameters),
        "splitting": str(program.splitting),
        "schedule": str(schedule),
        **storage_figures(program),
        "mapping": str(mapping),
        "done": None if done is None else str(done),
        "simplified": mapping.simplification_note(done),
        "tolerance": mapping.tolerance,
        "caveat": mapping.timing_caveat,
        "status": outcome.status.value,
        "outcome": outcome_to_json(outcome),
        "seconds": outcome.best if isinstance(outcome, Ok) else None,
        "samples": list(outcome.samples) if isinstance(outcome, Ok) else [],
        "baseline_seconds": baseline.best if isinstance(baseline, Ok) else None,
        "baseline_samples": list(baseline.samples) if isinstance(baseline, Ok) else [],
        "speedup": speedup_of(baseline, outcome),
        "compile_seconds": compile_seconds,
        "arrays": arrays,
        "not_finite": non_finite_arrays(arrays),
        "machine": asdict(timing.describe_host()),
    }


def _print(report: dict[str, Any], outcome: Outcome, limit: Limit | None) -> None:
    sizes = console.sizes_text(report["parameters"].items())
    console.heading(f"{report['program']}: {report['function']}({sizes})")
    if report["splitting"]:
        console.write_text(f"  split     {report['splitting']}")
    console.write_text(f"  schedule  {report['schedule']}")
    if report["storage"] != str(SOURCE_STORAGE):
        console.write_text(
            f"  storage   {report['storage']}  ({format_bytes(report['storage_bytes'])})"
        )
    for text in private_array_texts(report["private"].items()):
        console.write_text(f"            {text}")
    if report["choice"]:
        count, taken = len(report["choice"]["ranking"]), report["choice"]["strategy"]
        console.write_text(f"            that of `{taken}`, of {count} by a model of cost")
        if report["choice"].get("code", {}).get("is_source"):
            console.write_text("            the source: no other code is estimated to be faster")
    console.write_text(f"  mapping   {report['mapping']}")
    if report["simplified"]:
        console.write_text(f"            {report['simplified']}")
    console.write_text("  status    ", newline=False)
    console.status_line(outcome)
    if isinstance(outcome, Ok):
        samples = "  ".join(console.format_seconds(sample) for sample in outcome.samples)
        console.write_text(
            f"  time      {console.format_seconds(outcome.best)}    (best of {samples})"
        )
        console.write_text(
            f"  original  {console.format_seconds(report['baseline_seconds'])}", newline=False
        )
        console.write_text(f"    speedup {report['speedup']:.3g}x")
        if limit is not None:
            console.write_text(f"  limit     {limit_sentence(limit, outcome.best)}")
    console.write_text(f"  compile   {console.format_seconds(report['compile_seconds'])}")
    if report["caveat"]:
        console.write_text(f"  {report['caveat']}")
    if report["arrays"]:
        console.heading("\nOutputs")
        console.print_table(
            ("ARRAY", "VALUES", "SUM", "SUM OF SQUARES", "FIRST", "MIDDLE", "LAST"),
            [
                (
                    row["array"],
                    row["values"],
                    f"{row['sum']:.10g}",
                    f"{row['sum_of_squares']:.10g}",
                    " ".join(f"{value:.6g}" for value in row["first"]),
                    f"{row['middle']:.6g}",
                    " ".join(f"{value:.6g}" for value in row["last"]),
                )
                for row in report["arrays"]
            ],
            "lrrrlrl",
            optional=("LAST", "MIDDLE", "SUM OF SQUARES"),
        )
    if isinstance(outcome, Ok) and not report["arrays"]:
        console.write_text(
            "  the region changes nothing that is seen outside of it: nothing was compared"
        )
    elif report["not_finite"]:
        console.write_text(f"  {non_finite_remark(report['not_finite'])}")
