"""Final output of ``polygym optimize``: the table, the counts, the result.

The command line that goes on with a search, for users to copy.
"""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from polybench import Dataset
from polygym.cli.output.console import (
    format_seconds,
    heading,
    print_table,
    shorten,
    sizes_text,
    write_text,
    write_wrapped,
)
from polygym.cost.models.cost_model import Acquisition, ModelKind
from polygym.mdp.task_options import TaskOptions
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import AUTO
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.programs import Program
from polygym.programs.isl_text import without_parameters
from polygym.ratios import ratio_text
from polygym.runtime.evaluation import TIMING_NOISE, Evaluation, EvaluationOptions
from polygym.search.result import Finding, SearchResult, SearchTally, speedup_over
from polygym.search.settings import SearchSetting
from polygym.search.storage_trial import StorageTrial
from polygym.search.strategies.registry import STRATEGIES
from polygym.search.strategies.samplers import DEFAULT_STRATEGY

_LONGEST_SCHEDULE = 70


def print_ranking(tally: SearchTally, result: SearchResult, program: Program, budget: int) -> None:
    """Write the table, the counts, and a sentence about the outcome."""
    heading(f"{program.name}: {program.scop.name}({sizes_text(program.parameters)})")
    rows = [_original_row(result, program), *_rows(result)]
    left_out = print_table(
        ("", "SCHEDULE", "STATUS", "TIME", "SAMPLES", "SPEEDUP (-O3)", "SPEEDUP (isl)", "MAPPING"),
        rows,
        "lllrrrrl",
        optional=("SAMPLES", "STATUS", "MAPPING"),
    )
    if "MAPPING" in left_out:
        for row in rows:
            write_wrapped(f"mapping of {row[0]}: {row[-1]}")
    write_text(_counts(tally, budget))
    if tally.trials:
        write_text(f"{len(tally.trials)} mappings tried")
    if caveat := result.best.mapping.timing_caveat:
        write_text(f"{caveat[0].upper()}{caveat[1:]}.")
    if result.isl_reason:
        write_text(f"isl: {result.isl_reason}")
    if tally.best is not None and (note := confirmation_note(tally.best, result)):
        write_wrapped(note)
    _print_outcome(result)


def _print_outcome(result: SearchResult) -> None:
    best = result.best_finding
    if not result.has_run:
        write_text("No schedule ran to a correct end.")
    elif not result.is_improvement:
        write_wrapped(
            f"Nothing is faster than the source by more than {TIMING_NOISE:.0%}: the source, in "
            "its order and with its storage, is the answer."
        )
    else:
        write_text(f"Best: {ratio_text(best.speedup)}, schedule {best.label}:")
        write_text(f"  {without_parameters(str(best.evaluation.schedule))}")
        write_wrapped(f"  mapping: {_mapping(best.evaluation)}")
        if result.is_faster:
            write_text(f"  {ratio_text(result.gain)} {result.initial_finding.label}, the start")


def print_storage_trial(trial: StorageTrial) -> None:
    """Report which storage was searched, if two were tried."""
    if not trial.tried:
        return
    changed, written = trial.tried
    is_written = trial.setting is trial.setting.as_written
    changes = f"storage {changed.storage}" + (
        f", split {changed.splitting}" if changed.splitting else ""
    )
    best = {
        variant: max((outcome.speedup for outcome in variant.outcomes), default=0.0)
        for variant in trial.tried
    }
    write_wrapped(
        f"Tried first: {changes}, {ratio_text(best[changed])}; the source's storage, "
        f"{ratio_text(best[written])}. The search went on with the "
        f"{'latter' if is_written else 'former'}."
    )


def confirmation_note(searched: Finding, result: SearchResult) -> str:
    """Report the best of the search where measuring it again changed it; "" if it is the same."""
    again = (finding for finding in result.ranking if finding.index == searched.index)
    measured = next(again, None) if result.is_confirmed else None
    if measured is None:
        return ""
    before, is_best = ratio_text(searched.speedup), result.ranking[0].index == searched.index
    evaluation = measured.evaluation
    now = ratio_text(evaluation.speedup) if evaluation.is_ok else evaluation.status.value
    if is_best and now == before:
        return ""
    return (
        f"While searching, schedule {searched.label} looked best with {before}; timed again with "
        f"the others: {now}."
    )


def _original_row(result: SearchResult, program: Program) -> Sequence[object]:
    known = [finding.evaluation for finding in result.ranking]
    baseline = next((evaluation for evaluation in known if evaluation.baseline_samples), None)
    time = "-" if baseline is None else format_seconds(baseline.baseline_seconds)
    count = "-" if baseline is None else len(baseline.baseline_samples)
    isl = result.isl
    slower = 1 / isl.speedup if isl is not None and isl.is_ok else None
    shown = _shown(original_schedule(program.scop))
    return ("original", shown, "ok", time, count, "1.00x", ratio_text(slower), "sequential")


def _rows(result: SearchResult) -> list[Sequence[object]]:
    """Return a row for each finding; those of one schedule are told apart by a number."""
    counts: Counter[str] = Counter()
    names = []
    for finding in result.ranking:
        counts[finding.label] += 1
        number = counts[finding.label]
        names.append(finding.label if number == 1 else f"{finding.label} ({number})")
    return [
        (
            name,
            *_cells(finding.evaluation),
            ratio_text(speedup_over(finding.evaluation, result.isl)),
            _mapping(finding.evaluation),
        )
        for name, finding in zip(names, result.ranking, strict=True)
    ]


def _cells(row: Evaluation) -> Sequence[object]:
    """Return the columns from the schedule to the speedup over the original order."""
    shown, status = _shown(row.schedule), row.status.value
    if not row.is_ok:
        return (shown, status, "-", "-", "-")
    return (shown, status, format_seconds(row.seconds), len(row.samples), ratio_text(row.speedup))


def _shown(schedule: Schedule) -> str:
    return shorten(without_parameters(str(schedule)), _LONGEST_SCHEDULE)


def _counts(tally: SearchTally, budget: int) -> str:
    """Return how many episodes there were and how they ended.

    Example: ``100 of 100 explored, 93 distinct: 80 ok, 13 timeout, 7 repeated``.
    """
    kinds = ", ".join(f"{count} {kind}" for kind, count in tally.counts.most_common())
    explored = f"{tally.explored} of {max(budget, tally.explored)} explored"
    return f"{explored}, {tally.distinct} distinct" + (f": {kinds}" if kinds else "")


def _mapping(evaluation: Evaluation) -> str:
    """Return the mapping that was asked for, and under which one the code was made instead."""
    simpler = evaluation.mapping.simplification_note(evaluation.applied_mapping)
    return f"{evaluation.mapping}{simpler and f' ({simpler})'}"


def resume_command(setting: SearchSetting, plot: bool, folder: Path) -> str:
    """Return the command with which a search is resumed; defaults are left out."""
    source, options, evaluation = setting.source, setting.options, setting.evaluation
    plan, models, entry = setting.plan, setting.plan.model_options, STRATEGIES[setting.strategy]
    usual, usual_evaluation = TaskOptions(), EvaluationOptions()
    words = ["polygym", "optimize", _relative_path(source.target)]
    if source.function is not None:
        words += ["--function", source.function]
    if source.dataset is not Dataset.LARGE:
        words += ["--dataset", source.dataset.name.lower()]
    for name, value in source.parameters:
        words += ["-p", f"{name}={value}"]
    if source.splitting.statements:
        words += ["--split", str(source.splitting)]
    kind = models.kind.value if models.kind is not ModelKind.TREES else ""
    given: tuple[tuple[str, object, object], ...] = (
        ("--storage", source.storage, SOURCE_STORAGE),
        ("--strategy", setting.strategy, DEFAULT_STRATEGY),
        ("--schedule", "fixed" if plan.is_fixed else "free", "free"),
        ("--from", plan.schedule, AUTO),
        ("--model", _relative_path(models.model.file) or kind, ""),
        ("--acquisition", models.acquisition.value, Acquisition.MEAN.value),
        ("--population", plan.population if "population" in entry.options else 100, 100),
        ("--seed", setting.seed, 0),
        ("--threads", evaluation.threads, usual_evaluation.threads),
        ("--mapping", replace(evaluation.mapping, threads=1), usual_evaluation.mapping),
        ("--timeout-factor", evaluation.timeout_factor, usual_evaluation.timeout_factor),
        ("--max-coefficient", options.max_coefficient, usual.max_coefficient),
        ("--max-dimensions", options.max_dimensions, usual.max_dimensions),
        ("--max-rays", options.limits.rays, usual.limits.rays),
    )
    for option, chosen, default in given:
        if chosen != default:
            words += [option, str(chosen)]
    words += ["--budget", str(plan.budget)]
    if plan.mapping_budget:
        words += ["--mapping-budget", str(plan.mapping_budget)]
    if plan.time_limit is not None:
        words += ["--time-limit", f"{plan.time_limit:g}s"]
    words += ["--out", _relative_path(str(folder)), "--resume"]
    return shlex.join([*words, "--plot"] if plot else words)


def _relative_path(path: str) -> str:
    """Return a path as it is written from the working directory, where that is shorter."""
    here = f"{Path.cwd()}/"
    return path.removeprefix(here) if path.startswith(here) else path
