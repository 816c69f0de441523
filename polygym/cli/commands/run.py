"""``polygym run``: compile a program with a schedule, run it, check it, time it."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

import click

from polybench import Dataset
from polygym.cli.answer import Answer
from polygym.cli.limits import known_limit, sentence, share
from polygym.cli.options import (
    TARGET_HELP,
    chosen_mapping,
    function_option,
    json_option,
    mapping_options,
    size_options,
    target_argument,
)
from polygym.cli.output import (
    heading,
    say,
    seconds,
    status_line,
    working,
)
from polygym.cli.outputs import figures_of, not_finite, remark_on
from polygym.cli.schedules import Given, begun, is_automatic, mapping_in, schedule_maker
from polygym.cli.splitting import Cutter, program_in_pieces, split_option
from polygym.cli.storing import StorageChoice, storage_figures, storage_options, with_storage
from polygym.cli.tables import print_table
from polygym.compiler.codegen.common.mapping import DEFAULT, SEQUENTIAL, Mapping
from polygym.compiler.codegen.loops.private import private_texts
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.storage.plan import KEEP
from polygym.compiler.storage.price import in_words
from polygym.cost.limit.bound import Limit
from polygym.measure.evaluation.compiling import compile_problem, compile_schedule
from polygym.measure.evaluation.patience import code_within
from polygym.measure.worker.options import MeasureOptions, WorkerOptions
from polygym.measure.worker.outcome import Ok, Outcome, ProblemError, Status, outcome_to_json
from polygym.measure.worker.problem import CompiledProgram, Problem
from polygym.measure.worker.timing import (
    ONCE,
    PATIENT,
    Repetition,
    available_memory,
    this_machine,
)
from polygym.measure.worker.worker import Worker
from polygym.programs import Program, load_program

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
_MEASURING = MeasureOptions(time_limit=PATIENT)
_KEEPING = replace(_MEASURING, keep_contents=True)

# What takes less memory is not worth a word beforehand.
_MUCH_MEMORY = 2**30

# Address space is 47 bits wide; more megabytes than this say nothing.
_MOST_MEGABYTES = 2**27


@click.command("run", help=_HELP, epilog=TARGET_HELP)
@target_argument
@function_option
@size_options
@click.option(
    "--schedule",
    "schedule_text",
    default="original",
    show_default=True,
    metavar="original|isl|auto|FILE|TEXT",
    help="The order to run in; isl may be followed by words such as fusion=minimum or skew=off, "
    "auto is decided by models of cost, with --storage and --split where they are not given "
    "(docs/schedules.md); FILE holds isl text, JSON, or "
    "the output of `run --json`.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="How often to run it; the time is the smallest.",
)
@click.option(
    "--memory",
    type=click.IntRange(1, _MOST_MEGABYTES),
    metavar="MEGABYTES",
    help="Limit on what the program's data may take (default: what is free).",
)
@storage_options(
    "what the schedule's file has; model with --schedule auto, unless --split is given; else keep"
)
@split_option(
    "what the schedule's file has; decided with --schedule auto, unless --storage is given; "
    "else none"
)
@mapping_options
@json_option
def command(
    target: str,
    region: str | None,
    dataset: Dataset | None,
    parameters: dict[str, int],
    schedule_text: str,
    storage: StorageChoice | None,
    storage_limit: int | None,
    cutter: Cutter | None,
    mapping: Mapping | None,
    threads: int,
    repeat: int,
    memory: int | None,
    as_json: bool,
) -> Answer:
    """Compile the program, run it, and describe what it left."""
    program = load_program(target, function=region, dataset=dataset, parameters=parameters)
    program = program_in_pieces(program, cutter, schedule_text)
    asked = chosen_mapping(mapping, mapping_in(schedule_text) or DEFAULT, threads)
    if cutter is None and storage is None and is_automatic(schedule_text):
        given = begun(program, asked, storage_limit)
        program = program if given.beginning is None else given.beginning.program
    else:
        program = with_storage(program, storage, storage_limit, schedule_text, asked)
        given = schedule_maker(schedule_text)(program.scop, dict(program.parameters), asked)
    mapping, is_original = _mapped(program, given, schedule_text, mapping, threads)
    schedule = given.schedule
    start = time.perf_counter()
    with working("compiling"):
        problem, candidate = code_within(
            lambda: _compiled(program, schedule, None if is_original else mapping)
        )
    compile_seconds = time.perf_counter() - start
    if problem.memory >= _MUCH_MEMORY:
        gigabytes = [f"{size / 1e9:,.1f} GB" for size in (problem.memory, available_memory())]
        say("to run it takes {} of memory, {} are free".format(*gigabytes), err=True)
    options = WorkerOptions(memory_limit=memory * 2**20 if memory else None)
    with Worker(options) as worker, working(f"running {program.name}"):
        other = None if is_original else candidate
        baseline, outcome, arrays = _measured(program, worker, problem, other, repeat)
    mappings = (mapping, mapping if is_original else candidate.done)
    report = _report(program, schedule, mappings, baseline, outcome, compile_seconds, arrays)
    report |= {"memory_bytes": problem.memory, "choice": given.to_json()}
    report["private"] = dict(candidate.private)
    limit = known_limit(mapping, program)
    report["limit"] = None if limit is None else limit.to_json()
    if limit is not None and isinstance(outcome, Ok):
        report["of_limit"] = share(limit, outcome.best)
    code = 0 if isinstance(outcome, Ok) else 1
    if as_json:
        return Answer(code, report)
    _print(report, outcome, limit)
    return Answer(code)


def _mapped(
    program: Program, given: Given, schedule_text: str, mapping: Mapping | None, threads: int
) -> tuple[Mapping, bool]:
    """Return a schedule's mapping, and whether they are what the baseline is anyway."""
    said = mapping_in(schedule_text)
    tuned = chosen_mapping(mapping, said or DEFAULT, threads)
    in_order = given.schedule == original(program.scop)
    # The order of the text runs as it stands, unless it was chosen for what a mapping makes of it.
    as_it_stands = in_order and given.choice is None and said is None
    chosen = chosen_mapping(mapping, SEQUENTIAL, threads) if as_it_stands else tuned
    is_sequential = replace(chosen, threads=1) == SEQUENTIAL
    return chosen, program.source is None and in_order and is_sequential


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
            session = worker.open(problem, Repetition(minimum=repeat, minimum_seconds=0.0))
            return session.baseline, session.baseline, figures_of(program, session)
        session = worker.open(problem, Repetition(minimum=1))
        both = (problem.original, candidate)
        baseline, outcome = session.measure_together(both, repeat, _MEASURING)
        if not isinstance(outcome, Ok):
            return baseline, outcome, []
        # Bit for bit what the original leaves, if it is compared so: that is what Ok means.
        is_close = candidate.tolerance is not None
        if is_close:
            session.measure(candidate, replace(_KEEPING, repetition=ONCE))
        return baseline, outcome, figures_of(program, session, is_close)
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
        "simplified": mapping.simplified(done),
        "tolerance": mapping.tolerance,
        "caveat": mapping.caveat,
        "status": outcome.status.value,
        "outcome": outcome_to_json(outcome),
        "seconds": outcome.best if isinstance(outcome, Ok) else None,
        "samples": list(outcome.samples) if isinstance(outcome, Ok) else [],
        "baseline_seconds": baseline.best if isinstance(baseline, Ok) else None,
        "baseline_samples": list(baseline.samples) if isinstance(baseline, Ok) else [],
        "speedup": baseline.best / outcome.best
        if isinstance(baseline, Ok) and isinstance(outcome, Ok)
        else None,
        "compile_seconds": compile_seconds,
        "arrays": arrays,
        "not_finite": not_finite(arrays),
        "machine": asdict(this_machine()),
    }


def _print(report: dict[str, Any], outcome: Outcome, limit: Limit | None) -> None:
    sizes = ", ".join(f"{name} = {value}" for name, value in report["parameters"].items())
    heading(f"{report['program']}: {report['function']}({sizes})")
    if report["splitting"]:
        say(f"  split     {report['splitting']}")
    say(f"  schedule  {report['schedule']}")
    if report["storage"] != str(KEEP):
        say(f"  storage   {report['storage']}  ({in_words(report['storage_bytes'])})")
    for text in private_texts(report["private"].items()):
        say(f"            {text}")
    if report["choice"]:
        count, taken = len(report["choice"]["ranking"]), report["choice"]["strategy"]
        say(f"            that of `{taken}`, of {count} by a model of cost")
    say(f"  mapping   {report['mapping']}")
    if report["simplified"]:
        say(f"            {report['simplified']}")
    say("  status    ", newline=False)
    status_line(outcome)
    if isinstance(outcome, Ok):
        samples = "  ".join(seconds(sample) for sample in outcome.samples)
        say(f"  time      {seconds(outcome.best)}    (best of {samples})")
        say(f"  original  {seconds(report['baseline_seconds'])}", newline=False)
        say(f"    speedup {report['speedup']:.3g}x")
        if limit is not None:
            say(f"  limit     {sentence(limit, outcome.best)}")
    say(f"  compile   {seconds(report['compile_seconds'])}")
    if report["caveat"]:
        say(f"  {report['caveat']}")
    if report["arrays"]:
        heading("\nOutputs")
        print_table(
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
    for remark in _remarks(report):
        say(f"  {remark}")


def _remarks(report: dict[str, Any]) -> list[str]:
    """Return what there is to be said about the results."""
    if report["status"] == Status.OK.value and not report["arrays"]:
        return ["the region changes nothing that is seen outside of it: nothing was compared"]
    return [remark_on(report["not_finite"])] if report["not_finite"] else []
