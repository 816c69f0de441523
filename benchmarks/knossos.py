"""Learning on terms: Figures 5a, 5b and 9 of Knossos, the ablation, and larger terms.

    python benchmarks/knossos.py train --out runs/knossos --only graph --seeds 0,1,2
    python benchmarks/knossos.py test --out runs/knossos
    python benchmarks/knossos.py report --out runs/knossos

`train_experiment` has trainings of several kinds, each seed in a folder of its own, which go on
where they were when the command is given again; several may run side by side. `run_tests` has what
is trained search with more terms, by other searches, and in larger terms, beside searches that
learned nothing; what is in the table already is not done again. The part `report` prints the tables
of both, for a page under docs/results.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.reading import read_experiment
from polygym.agents.trainers.training import train_experiment
from polygym.agents.trainers.training_tables import read_rows
from polygym.errors import PolygymError
from polygym.rewrite.term import Term
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.search.planning import PlanningLimits, ValueFunction, explore
from polygym.terms.decomposition import search_by_fragments
from polygym.terms.fusion_value import ReuseValue
from polygym.terms.language.program import TermProgram
from polygym.terms.learning.numpy_network import VALUE_SCALE, NetworkValue
from polygym.terms.learning.weights import MaximumValue, ValueWeights, shipped_value
from polygym.terms.library import expressions, larger_expressions
from polygym.terms.rewriter import TermSystem
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.saturation import saturate_term

CONFIGURATION = Path(__file__).parent.parent / "configs" / "knossos_arithmetic.yaml"
KINDS = {
    "graph": (),
    "counts": ("hyperparameters.rounds=0",),
    "mcts": ("hyperparameters.search=mcts",),
    "bootstrap": ("kernels=bootstrap", "evaluation.kernels=bootstrap", "arguments.rules=all"),
}
"""What is trained: the configuration that is shipped, with other values."""

LARGE_SEED, LARGE = 20261126, 50
LARGE_PLAN = PlanningLimits(horizon=30, max_states=3000, batch=64)
PARTS_PLAN = PlanningLimits(horizon=16, max_states=8000, batch=64)
PLAN = PlanningLimits(horizon=10, max_states=5000, batch=64)
INITIAL = {"test": 161.0, "bootstrap": 64.0}


@dataclass(frozen=True)
class KnossosCase:
    """A search on a set of programs; ``kind`` and ``seed`` say whose weights, if any.

    ``scale`` is how many times what they expect is taken: once as the paper has it. Where
    ``is_counted``, so is what is counted by hand, if that is more.
    """

    programs: str
    search: str
    kind: str
    seed: int = 0
    trust: float = 1.0
    is_counted: bool = False


def experiment(kind: str, seed: int) -> Experiment:
    """Return the experiment of a kind with one seed."""
    return replace(read_experiment(CONFIGURATION, KINDS[kind]), seeds=(seed,))


def test_cases(folder: Path, seeds: Sequence[int]) -> Iterator[KnossosCase]:
    """Yield what can be tested by now, what learned nothing first."""
    for programs in ("test", "bootstrap"):
        for search in ("greedy", "random"):
            yield KnossosCase(programs, search, "nothing")
    yield KnossosCase("test", "astar", "counted")
    yield KnossosCase("large", "astar", "counted")
    yield KnossosCase("large", "egraph", "nothing")
    yield KnossosCase("large", "parts", "counted")
    yield KnossosCase("large", "parts", "shipped")
    for seed in seeds:
        for kind in KINDS:
            if not weights_of(folder, kind, seed).exists():
                continue
            programs = "bootstrap" if kind == "bootstrap" else "test"
            yield KnossosCase(programs, "astar", kind, seed)
            if kind in ("graph", "mcts"):
                yield KnossosCase("test", "mcts", kind, seed)
            if kind == "graph":
                yield KnossosCase("test", "astar", kind, seed, VALUE_SCALE)
                yield KnossosCase("test", "astar", kind, seed, VALUE_SCALE, is_counted=True)
    if weights_of(folder, "graph", 0).exists():
        yield KnossosCase("large", "astar", "graph", trust=VALUE_SCALE)
        yield KnossosCase("large", "parts", "graph", trust=VALUE_SCALE)


def weights_of(folder: Path, kind: str, seed: int) -> Path:
    """Return the file of a seed's weights."""
    return folder / f"{kind}-{seed}" / f"seed-{seed}" / "model.zip"


def value_of(folder: Path, case: KnossosCase) -> ValueFunction[Term] | None:
    """Return what a search expects."""
    if case.kind in KINDS:
        network = ValueWeights.load(weights_of(folder, case.kind, case.seed)).network
        value = NetworkValue(network, scale=case.trust)
        return MaximumValue(value, ReuseValue()) if case.is_counted else value
    if case.kind == "shipped":
        return shipped_value()
    return ReuseValue() if case.kind == "counted" else None


def run_case(folder: Path, case: KnossosCase) -> dict[str, Any]:
    """Return the row of a case: what each of its programs costs afterwards."""
    programs: Sequence[TermProgram] = (
        larger_expressions(LARGE_SEED, LARGE)
        if case.programs == "large"
        else expressions(case.programs)
    )
    began, costs = time.process_time(), list[float]()
    system = TermSystem(rules_named("all" if case.programs == "bootstrap" else "simple"))
    value = value_of(folder, case)
    plan = LARGE_PLAN if case.programs == "large" else PLAN
    for program in programs:
        if case.search == "egraph":
            costs.append(saturate_term(program.body, seconds=10.0).cost)
            continue
        if case.search == "parts":
            rules = system.rewriter.rules
            costs.append(
                system.cost(search_by_fragments(program.body, rules, PARTS_PLAN, value).term)
            )
            continue
        seen, _ = explore(case.search, system, program.body, plan, value, case.seed)
        costs.append(seen.costs[seen.best])
    return {
        **vars(case),
        "costs": [round(cost, 6) for cost in costs],
        "seconds": round(time.process_time() - began, 1),
        "processor": machine_fingerprint().processor,
    }


def run_tests(folder: Path, seeds: Sequence[int]) -> None:
    """Test what is not in the table yet."""
    table = folder / "tests.jsonl"
    done = {_case(row) for row in rows(table)}
    for case in test_cases(folder, seeds):
        if case not in done:
            row = run_case(folder, case)
            with table.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{case}: {sum(row['costs']):.1f}", flush=True)


def rows(table: Path) -> list[dict[str, Any]]:
    """Return the rows of the table of tests."""
    if not table.exists():
        return []
    return [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]


def _case(row: dict[str, Any]) -> KnossosCase:
    trust, is_counted = _order_key(row)
    return KnossosCase(row["programs"], row["search"], row["kind"], row["seed"], trust, is_counted)


def _order_key(row: dict[str, Any]) -> tuple[float, bool]:
    return row.get("trust", 1.0), row.get("is_counted", False)


def curves(folder: Path, kind: str) -> dict[int, list[float]]:
    """Return what evaluations cost in all, for each epoch a number for each seed."""
    result: dict[int, list[float]] = defaultdict(list)
    initial = INITIAL["bootstrap" if kind == "bootstrap" else "test"]
    for place in sorted(folder.glob(f"{kind}-*")):
        saved: dict[int, float] = defaultdict(float)
        for row in read_rows(next(place.glob("seed-*"), place) / "evaluations.csv"):
            saved[int(row["steps"])] += float(row["reward"])
        for epoch, reward in saved.items():
            result[epoch].append(initial - reward)
    return dict(sorted(result.items()))


def write_report(folder: Path) -> str:
    """Return the report."""
    table = rows(folder / "tests.jsonl")

    def line(title: str, chosen: Callable[[dict[str, Any]], bool], paper: str) -> str:
        own = [row for row in table if chosen(row)]
        if not own:
            return f"| {title} | - | | {paper} |"
        sums = [sum(row["costs"]) for row in own]
        seconds = mean(row["seconds"] for row in own)
        spread = f" ({min(sums):.1f} to {max(sums):.1f})" if len(sums) > 1 else ""
        return f"| {title} | {mean(sums):.1f}{spread}, {len(sums)} | {seconds:.0f} | {paper} |"

    def of(
        programs: str, search: str, kind: str, trust: float = 1.0, *, is_counted: bool = False
    ) -> Callable[[dict[str, Any]], bool]:
        wanted = programs, search, kind, (trust, is_counted)
        return lambda row: (row["programs"], row["search"], row["kind"], _order_key(row)) == wanted

    parts = [
        _HEAD.format(processor=machine_fingerprint().processor, trust=VALUE_SCALE),
        "## Last weights\n",
        _COLUMNS,
    ]
    parts += [
        line("test, graph network", of("test", "astar", "graph", VALUE_SCALE), "125.2 to 125.5"),
        line(
            "test, graph network and what is counted by hand",
            of("test", "astar", "graph", VALUE_SCALE, is_counted=True),
            "-",
        ),
        line("test, graph network, trusted once", of("test", "astar", "graph"), "125.2 to 125.5"),
        line("test, without message passing", of("test", "astar", "counts"), "139.7"),
        line("test, nothing learned, counted by hand", of("test", "astar", "counted"), "-"),
        line("test, greedy", of("test", "greedy", "nothing"), "132.1"),
        line("test, random walks", of("test", "random", "nothing"), "161"),
        line("bootstrap, graph network", of("bootstrap", "astar", "bootstrap"), "40.6"),
        line("bootstrap, greedy", of("bootstrap", "greedy", "nothing"), "44.7"),
        line("bootstrap, random walks", of("bootstrap", "random", "nothing"), "56"),
        line("Figure 9, trained by A*, tested by A*", of("test", "astar", "graph"), "125"),
        line("Figure 9, A*, MCTS", of("test", "mcts", "graph"), "135"),
        line("Figure 9, MCTS, A*", of("test", "astar", "mcts"), "-"),
        line("Figure 9, MCTS, MCTS", of("test", "mcts", "mcts"), "148"),
        "\n## Epochs\n",
        "Searches with 1,500 terms after each epoch; where seeds are unfinished, of those that got "
        "there.\n",
        "| training | " + " | ".join(map(str, range(1, 11))) + " |",
        "|---|" + "---|" * 10,
    ]
    for kind in KINDS:
        costs = curves(folder, kind)
        if costs:
            cells = [f"{mean(costs[at]):.1f}" if at in costs else "" for at in range(1, 11)]
            parts.append(f"| {kind}, {max(map(len, costs.values()))} | " + " | ".join(cells) + " |")
    return "\n".join([*parts, "", *_large(table)]) + "\n"


def _large(table: Sequence[dict[str, Any]]) -> list[str]:
    """Return the part on larger terms."""
    own = {(row["search"], row["kind"]): row for row in table if row["programs"] == "large"}
    graph = own.get(("egraph", "nothing"))
    if graph is None:
        return []
    result = ["## Larger terms\n", _LARGE, "| | sum | of the e-graph's | at most 2 % more in |"]
    result.append("|---|---|---|---|")
    for (search, kind), row in own.items():
        pairs = list(zip(row["costs"], graph["costs"], strict=True))
        close = sum(one <= 1.02 * other for one, other in pairs)
        share = sum(row["costs"]) / sum(graph["costs"])
        title = "e-graph" if search == "egraph" else f"{search}, {kind}"
        result.append(
            f"| {title} | {sum(row['costs']):.1f} | {share:.3f} | {close} of {len(pairs)} |"
        )
    return result


_HEAD = """# What is learned for terms

Made by `benchmarks/knossos.py` with `configs/knossos_arithmetic.yaml`, on {processor}. Costs are
static, sums over a set; searches look at 5,000 terms, derivations have 10 steps, rules are `simple`
(`all` for the bootstrap set, whose 40.6 needs x / x → 1). Of several seeds the mean, the least and
the most, and how many. Seconds are of one core. What a network expects is taken {trust} times by A*
(`polygym.terms.learning.numpy_network`); once, as the paper has it, where that is said, in
Figure 9,
and by networks without message passing or of the bootstrap set.
"""
_COLUMNS = "| | cost | seconds | the paper |\n|---|---|---|---|"
_LARGE = """50 expressions of three of the paper's kind each (`larger_expressions`), none of them
learned from; A* with a horizon of 30 and 3,000 terms, parts with 16 steps for each and 8,000 terms,
the network as it was trained: `graph` by this study, `shipped` the one that comes with polygym.
"""


def main() -> int:
    """Do a part of the study; return 0, or 2 for what cannot be done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=("train", "test", "report"))
    parser.add_argument("--out", type=Path, required=True, help="a folder for all of it")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds of trainings")
    parser.add_argument("--seeds", default="0,1,2,3,4,5,6,7,8,9")
    options = parser.parse_args()
    seeds = [int(number) for number in options.seeds.split(",")]
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        match options.part:
            case "train":
                for seed in seeds:
                    for kind in options.only.split(","):
                        folder = options.out / f"{kind}-{seed}"
                        train_experiment(
                            experiment(kind, seed), folder, _print_progress, resume=True
                        )
            case "test":
                run_tests(options.out, seeds)
            case _:
                print(write_report(options.out), end="")
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _print_progress(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
