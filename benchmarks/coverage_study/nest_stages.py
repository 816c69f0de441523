"""Stages of one nest: what a process of its own finds out, one after the other.

========  ==================================================================================
modelled  the region is read, at small sizes
legal     the automatic schedule and storage are chosen, and verified to be legal
equal     outputs of the automatic code, of the source order, of gcc's code and of the program
faster    the times of source and automatic code, where asked for
========  ==================================================================================
"""

import shlex
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coverage_study.outcomes import LEAST_SECONDS
from coverage_study.whole_program import BuildError, ProgramUnits, compare_programs
from polybench import Dataset
from polygym.autoschedule.code_choice import confirmed_start
from polygym.errors import InputError, PolygymError, SourceError
from polygym.export.exporting import ExportOptions, prepare_export
from polygym.frontend.c.source.region_mark import RegionMark
from polygym.frontend.c.source.region_selection import parse_selection
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.programs import Program, load_program
from polygym.programs.sizes import parse_sizes
from polygym.runtime.evaluation.c_compilers import compile_with
from polygym.runtime.evaluation.compilation import (
    compile_problem,
    compile_schedule,
    contracted_schedule,
)
from polygym.runtime.worker.outcome import Ok, Outcome, OutcomeStatus, ProblemError
from polygym.runtime.worker.timing import GENEROUS_LIMIT, MeasureOptions, Repetition
from polygym.runtime.worker.worker import Session, Worker

_ROUNDS = 4
_MEASURING = MeasureOptions(Repetition(minimum=1, minimum_seconds=0.0), GENEROUS_LIMIT)
_SIZES = (Dataset.SMALL, Dataset.MEDIUM, Dataset.LARGE, Dataset.EXTRALARGE)


@dataclass(frozen=True, slots=True)
class _Automatic:
    """A program with its automatic storage, its schedule, and the mapping of both."""

    program: Program
    schedule: Schedule
    mapping: Mapping


def stages(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what each stage finds; a refusal ends them."""
    try:
        yield from _stages(request)
    except SourceError as error:
        yield {"stage": "refused", "reason": error.message, "place": str(error.location)}
    except PolygymError as error:
        yield {"stage": "refused", "reason": str(error).split("\n")[0], "place": ""}
    except RecursionError:
        yield {"stage": "refused", "reason": "the program nests too deeply", "place": ""}


def _stages(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    program = _load(request, Dataset.SMALL)
    yield {"stage": "modelled", "sizes": _sizes_text(program)}
    resolved = _automatic(program, request["threads"])
    contracted_schedule(resolved.program, resolved.schedule)  # raises for an illegal one
    yield {"stage": "legal", "schedule": str(resolved.schedule)}
    yield {"stage": "equal", **_equality(program, resolved, request)}
    if request["timed"]:
        yield {"stage": "faster", **_times(request)}


def _load(request: dict[str, Any], dataset: Dataset) -> Program:
    """Return the program of the region; where no region is named, the one around the nest.

    Raises:
        InputError: The region has a part of the nest only.
    """
    options = _options(request["options"])
    folders, macros = request["include_directories"], request["macros"]
    selection, line = request["selection"], request["line"]
    target = request["path"] if selection else f"{request['path']}:{line}"
    program = load_program(
        target,
        function=selection,
        dataset=dataset,
        parameters=options["-p"],
        extents=options["--extent"],
        include_directories=folders,
        macros=macros,
    )
    mark = parse_selection(program.function).mark
    if isinstance(mark, RegionMark):
        is_whole = mark.first <= (line, request["column"]) and mark.last[0] >= request["last_line"]
        if not is_whole:
            raise InputError(f"only lines {mark.first[0]} to {mark.last[0]} are a region")
    return program


def _options(text: str) -> dict[str, Any]:
    """Return options of a list as the loader takes them."""
    result: dict[str, Any] = {"-p": {}, "--extent": []}
    words = shlex.split(text)
    for option, value in zip(words[::2], words[1::2], strict=True):
        match option:
            case "-p":
                result["-p"].update(parse_sizes(value))
            case "--extent":
                result["--extent"].append(value)
            case _:
                raise InputError(f"expected -p or --extent, found {option}")
    return result


def _automatic(program: Program, threads: int) -> _Automatic:
    """Return a program with its automatic storage and schedule, as `run --schedule auto` does."""
    mapping = replace(DEFAULT_MAPPING, threads=threads)
    confirmed = confirmed_start(program, mapping, DEFAULT_MEMORY_LIMIT)
    return _Automatic(confirmed.start.program, confirmed.choice.schedule, confirmed.mapping)


def _sizes_text(program: Program) -> str:
    return " ".join(f"{name}={value}" for name, value in program.parameters)


def _equality(program: Program, resolved: _Automatic, request: dict[str, Any]) -> dict[str, Any]:
    """Return what agrees, and why what is missing could not be compared."""
    agree, details = [], []
    with closing(Worker()) as worker:
        try:
            session = worker.open(compile_problem(resolved.program), _MEASURING.repetition)
        except ProblemError as error:
            return {"equal": "", "detail": f"the source order: {error}"}
        schedule, mapping = resolved.schedule, resolved.mapping
        outcome = session.measure(compile_schedule(resolved.program, schedule, mapping), _MEASURING)
        if not isinstance(outcome, Ok):
            return {"equal": _bad(outcome), "detail": str(outcome)}
        compared = _gcc(session, resolved.program)
    agree += [compared] if compared == "gcc" else []
    details += [compared] if compared != "gcc" else []
    if compared.startswith("wrong"):
        return {"equal": compared, "detail": compared}
    compared = _whole(resolved, request)
    if compared.startswith("wrong"):
        return {"equal": compared, "detail": compared}
    agree += [compared] if compared == "program" else []
    details += [compared] if compared != "program" else []
    return {"equal": ", ".join(agree) or "source", "detail": "; ".join(filter(None, details))}


def _bad(outcome: Outcome) -> str:
    """Return the word for an outcome that is not fine."""
    match outcome.status:
        case OutcomeStatus.WRONG_OUTPUT:
            return f"wrong: {outcome}"
        case OutcomeStatus.CRASH:
            return f"crash: {outcome}"
        case _:
            return outcome.status.value


def _gcc(session: Session, program: Program) -> str:
    """Compare with what gcc makes of the function; "gcc" where both agree."""
    try:
        theirs = compile_with("gcc", program, 1, ("-ffp-contract=off",))
    except InputError as error:
        return f"gcc: {str(error).split(': ')[-1][:120]}"
    outcome = session.measure(theirs, _MEASURING)
    if isinstance(outcome, Ok):
        return "gcc"
    is_wrong = outcome.status is OutcomeStatus.WRONG_OUTPUT
    return f"wrong: beside gcc: {outcome}" if is_wrong else f"gcc: {outcome}"


def _whole(resolved: _Automatic, request: dict[str, Any]) -> str:
    """Compare the program built with the fast loops; "program" where both print the same.

    Where the automatic code is the source itself, its loops in tiles and threads are compared.
    """
    if not request["units"]:
        return ""
    options = ExportOptions(sizes=(resolved.program.parameters,))
    units = ProgramUnits(tuple(map(Path, request["units"])), tuple(request["flags"]))
    try:
        export = prepare_export(resolved.program, resolved.schedule, resolved.mapping, options)
        if export.is_source:
            mapping = replace(DEFAULT_MAPPING, threads=request["threads"])
            export = prepare_export(resolved.program, resolved.schedule, mapping, options)
        if export.embedding is None:
            return "program: the region stands in no function"
        comparison = compare_programs(export, units)
    except (PolygymError, BuildError) as error:
        return f"program: {str(error).splitlines()[0][:200]}"
    if verdict := comparison.verdict:
        return verdict
    return f"program: the fast loops ran in 0 of {comparison.calls} calls"


def _times(request: dict[str, Any]) -> dict[str, Any]:
    """Return the times at the first sizes at which the source takes a millisecond."""
    with closing(Worker()) as worker:
        for dataset in _SIZES:
            program = _load(request, dataset)
            problem = compile_problem(program)
            session = worker.open(problem, _MEASURING.repetition)
            is_long = isinstance(session.baseline, Ok) and session.baseline.best >= LEAST_SECONDS
            if is_long or dataset is _SIZES[-1]:
                break
        resolved = _automatic(program, request["threads"])
        problem = compile_problem(resolved.program)
        session = worker.open(problem, _MEASURING.repetition)
        code = compile_schedule(resolved.program, resolved.schedule, resolved.mapping)
        ours = (problem.original, code)
        baseline, outcome = session.measure_together(ours, _ROUNDS, _MEASURING)
    if not (isinstance(baseline, Ok) and isinstance(outcome, Ok)):
        return {"equal": _bad(outcome), "sizes": _sizes_text(program)}
    ratio = baseline.best / outcome.best
    return {"ratio": ratio, "seconds": baseline.best, "sizes": _sizes_text(program)}
