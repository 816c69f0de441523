"""``polygym rewrite``: terms made cheaper by rules, step by step, and derivations read again."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import click

from polygym.cli.options.common import json_option, parameters_option, seed_option
from polygym.cli.options.values import choice_option, count_option, file_option, read_small_file
from polygym.cli.output import console
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.search.planning import PlanningLimits
from polygym.terms.code.c_file import c_file
from polygym.terms.code.timing import TimingComparison, sizes_named
from polygym.terms.code.timing_record import measure_pair, repeat_measurement
from polygym.terms.derivation import Derivation, replay_derivation
from polygym.terms.language.derivatives import gradient, tangent
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of, text_of_program
from polygym.terms.language.program import TermProgram
from polygym.terms.learning.weights import VALUE_FUNCTIONS, value_function_named
from polygym.terms.optimization import SEARCH_METHODS, VALUE_METHODS, optimize_term
from polygym.terms.rule_enumeration import ENUMERATED, enumerate_rules
from polygym.terms.rules.rule_table import RULE_SETS, merge_rules, parse_rules, rules_named
from polygym.terms.rules.rule_types import TermRule
from polygym.terms.rules.soundness import check_rules
from polygym.terms.saturation import KIND, SaturationRecord, replay_saturation, saturate_program
from polygym.terms.whole_programs.program_record import (
    PROGRAM_KIND,
    ProgramRecord,
    replay_program,
    saturate_to_record,
)

_HELP = """Rewrite terms by rules into cheaper ones, or follow a derivation again.

Terms are s-expressions of a small functional language: (add x (mul 2.0 y)), let, lam, build,
sumbuild, index, tuples. See docs/guides/terms.md.

\b
Examples:
  polygym rewrite optimize '(div (mul 2.0 (add x y)) (sub (add x y) 1))'
  polygym rewrite optimize gemm.ks --rules extended --strategy greedy
  polygym rewrite optimize gemm.ks --rules vectors --rules mine.rules
  polygym rewrite optimize gemm.ks --measure -p n=500 -p l=500
  polygym rewrite gradient gemm.ks > gradient.ks
  polygym rewrite code gemm.ks > gemm.c
  polygym rewrite rules --operators exp,log,mul,add > found.rules
  polygym rewrite replay found.json
"""

_OPTIMIZE = """Search for a cheaper term that computes the same, and show how it is derived.

TERM is a file with definitions, or a bare term in quotes, whose free names are numbers. The rules
are those of a set, or of a file of your own, which are tried on random terms first: one that
changes what is computed is refused with a counterexample. Costs are static: what the operators
cost, loops counted 16 times.

With --measure, the program and what it became are compiled and run in turn; what comes out is
compared, and with the interpreter at small sizes. Sizes that are not given are 16.

\b
Examples:
  polygym rewrite optimize '(mul (add x y) (add x y))'
  polygym rewrite optimize axpy.ks --rules extended --json
  polygym rewrite optimize axpy.ks --rules extended --measure -p n=1000
"""

_GRADIENT = """Write the program of a program's derivatives.

TERM is a file with definitions, or a bare term in quotes. What is written takes the program's
arguments and d$r, the derivative of whatever is wanted by the program's result (1.0 for a number's
own gradient), and gives the derivatives by all arguments that have Floats. With --mode forward it
takes a direction d$x for each of these, and gives the derivative of the result in that direction.
Within programs, ((grad f) a b) and ((jvp f) a b da db) call derivatives, also of each other.

\b
Examples:
  polygym rewrite gradient '(mul x (exp y))'
  polygym rewrite gradient gemm.ks --definition gemm
  polygym rewrite gradient gemm.ks --mode forward
"""

_CODE = """Write a term's C: a function of arrays, with its sizes as arguments.

TERM is a file with definitions, or a bare term in quotes. The function takes the sizes first, then
the arrays of the parameters, then those of the result; a result that is a number is an array of one
element. A size given by -p stands in the text as a number. Every command that takes a C file takes
this one, and FILE.ks itself: `polygym optimize`, `run`, `show`, `export`.

\b
Examples:
  polygym rewrite code axpy.ks > axpy.c
  polygym rewrite code axpy.ks -p n=1000
"""

_REPLAY = """Follow a derivation again, step by step, by the rules that it names.

FILE is what `polygym rewrite optimize --json` or `--out` wrote, or `export()` of
polygym/Rewrite-v0. Exit code 1: a step leads elsewhere, or a rule does not apply. What was found by
saturation has no steps: its e-graph is grown again, or of programs with loops the term is evaluated
beside the program for random inputs. What was measured is measured again, where its
code has to be the same and has to compute the same.
"""

_RULES = """Find rules: enumerate small terms of some operators, and verify what agrees.

Each rule makes its term cheaper, and is tried on random terms as those of a file are. The output is
a file for --rules. Ctrl-C ends the search: what was found is printed already.

\b
Examples:
  polygym rewrite rules --operators exp,log,mul,add > found.rules
  polygym rewrite rules --operators mul,div --levels 1 --sums
"""

Outcome: TypeAlias = Derivation | SaturationRecord | ProgramRecord

_LONGEST = 400
_MODES = {"reverse": gradient, "forward": tangent}
_EGRAPH = "egraph"
_LOOPS = "loops"
_AT_ONCE = {
    _EGRAPH: "all rules at once, arithmetic alone, what is shared charged once",
    _LOOPS: "all rules at once, programs with loops, then code motion",
}
_LARGEST_RECORD = 512  # MiB: it has the whole term after every step
_MOST_NODES = 600


@click.group("rewrite", help=_HELP)
def command() -> None:
    """Hold the commands."""


@command.command("optimize", help=_OPTIMIZE)
@click.argument("target", metavar="TERM")
@click.option("--definition", metavar="NAME", help="Which definition of the file (else the last).")
@choice_option(
    "--strategy",
    choices=[*SEARCH_METHODS, *_AT_ONCE],
    default="astar",
    help="The search: "
    + "; ".join(f"{name}, {does}" for name, does in {**SEARCH_METHODS, **_AT_ONCE}.items())
    + ".",
)
@click.option(
    "--value-function",
    default="counted",
    show_default=True,
    metavar="NAME|FILE",
    help="Estimate of a term in astar, beam, mcts and parts: "
    + "; ".join(f"{name}, {does}" for name, does in VALUE_FUNCTIONS.items())
    + "; or a file of weights.",
)
@click.option(
    "--rules",
    "sets",
    multiple=True,
    default=("simple",),
    show_default=True,
    metavar="NAME|FILE",
    help=f"A set of rules ({', '.join(RULE_SETS)}) or a file; several are joined.",
)
@click.option(
    "--initial-rules",
    multiple=True,
    metavar="NAME|FILE",
    help="Search with these rules first, then from the result with --rules; egraph and loops join "
    "them.",
)
@count_option(
    "--budget",
    default=5000,
    help="Most terms to visit; with egraph and loops, most nodes of the e-graph.",
)
@count_option(
    "--horizon",
    most=1000,
    default=10,
    help="Most steps of a derivation; with parts, of each of its searches. Of no use to egraph and "
    "loops.",
)
@file_option("--out", help="Write the derivation to this file, for replay.")
@click.option("--measure", is_flag=True, help="Compile the terms, and time them in turn.")
@parameters_option
@seed_option("Seed of mcts and random.")
@json_option
def optimize(
    target: str,
    definition: str | None,
    strategy: str,
    value_function: str,
    sets: Sequence[str],
    initial_rules: Sequence[str],
    budget: int,
    horizon: int,
    out: Path | None,
    measure: bool,
    parameters: dict[str, int],
    seed: int,
    as_json: bool,
) -> console.CommandResult:
    """Search, and print the derivation."""
    if parameters and not measure:
        raise InputError("--parameters: expected --measure beside it, found none")
    program = _program(target, definition)
    phases = [_rules(names) for names in (initial_rules, sets) if names]
    plan = PlanningLimits(horizon=horizon, max_states=budget)
    value = None
    if strategy in VALUE_METHODS:
        value = value_function_named(value_function, merge_rules(phases))
    outcome: Outcome
    with console.spinner(f"rewriting {program.name}"):
        if strategy == _LOOPS:
            outcome = saturate_to_record(program, merge_rules(phases), budget)
        elif strategy == _EGRAPH:
            outcome = saturate_program(program, merge_rules(phases), min(budget, _MOST_NODES))
        else:
            outcome = optimize_term(program, phases, strategy, plan, value, seed)
    record = {**outcome.to_json(), "search": strategy, "budget": budget, "horizon": horizon}
    if value is not None:
        record["policy"] = value_function
    race = None
    if measure:
        with console.spinner(f"measuring {program.name}"):
            race, record["measured"] = measure_pair(program, outcome.result, parameters)
    if out is not None:
        write_atomically(out, (json.dumps(record, indent=2) + "\n").encode())
    if as_json:
        return console.CommandResult(document=record)
    _print(outcome)
    if race is not None:
        _print_race(race, record["measured"]["validated_sizes"])
    if out is not None:
        console.write_text(f"written to {out}")
    return console.CommandResult()


@command.command("gradient", help=_GRADIENT)
@click.argument("target", metavar="TERM")
@click.option("--definition", metavar="NAME", help="Which definition of the file (else the last).")
@choice_option(
    "--mode",
    choices=list(_MODES),
    default="reverse",
    help="reverse: derivatives by all arguments; forward: the derivative in one direction.",
)
@json_option
def differentiate(
    target: str, definition: str | None, mode: str, as_json: bool
) -> console.CommandResult:
    """Write the text of a program's derivatives."""
    program = _MODES[mode](_program(target, definition))
    text = text_of_program(program)
    document = {
        "name": program.name,
        "parameters": {name: str(kind) for name, kind in program.parameters},
        "result": str(program.result),
        "program": text,
    }
    return console.answer(as_json, document, lambda: console.write_text(text))


@command.command("code", help=_CODE)
@click.argument("target", metavar="TERM")
@click.option("--definition", metavar="NAME", help="Which definition of the file (else the last).")
@parameters_option
@json_option
def code(
    target: str, definition: str | None, parameters: dict[str, int], as_json: bool
) -> console.CommandResult:
    """Write the C file of a program."""
    program = _program(target, definition)
    text = c_file([program], sizes_named(program, parameters))
    document = {"name": program.name, "sizes": parameters, "code": text}
    return console.answer(as_json, document, lambda: console.write_text(text.rstrip()))


@command.command("rules", help=_RULES)
@click.option(
    "--operators",
    required=True,
    metavar="NAME,NAME",
    help=f"Operators of numbers: {', '.join(ENUMERATED)}.",
)
@count_option("--levels", most=3, default=2, help="How deep terms are nested.")
@click.option("--sums", is_flag=True, help="Sums over loops as well.")
@seed_option("Seed of the random values.")
@json_option
def rules(
    operators: str, levels: int, sums: bool, seed: int, as_json: bool
) -> console.CommandResult:
    """Print rules as they are found."""
    names = tuple(dict.fromkeys(console.listed(operators)))
    texts: list[str] = []
    with suppress(KeyboardInterrupt), console.spinner("enumerating terms"):
        for rule in enumerate_rules(names, levels, with_sums=sums, seed=seed):
            texts.append(str(rule))
            if not as_json:
                console.write_text(texts[-1])
    return console.CommandResult(document={"rules": texts} if as_json else None)


@command.command("replay", help=_REPLAY)
@click.argument("file", metavar="FILE")
@json_option
def replay(file: str, as_json: bool) -> console.CommandResult:
    """Follow a derivation, and say whether it holds."""
    text = read_small_file(file, "a derivation", mebibytes=_LARGEST_RECORD)
    try:
        record = json.loads(text)
    except ValueError as error:
        raise InputError(f"{console.shorten(file)}: expected JSON: {error}") from None
    try:
        where = console.shorten(file)
        kind = record.get("kind") if isinstance(record, dict) else None
        result: Outcome
        if kind == KIND:
            result, holds = replay_saturation(record, where), "the term is there"
        elif kind == PROGRAM_KIND:
            result, holds = replay_program(record, where), "the term computes the same"
        else:
            result, holds = replay_derivation(record, where), "every step holds"
        race, again = None, None
        if "measured" in record:
            with console.spinner(f"measuring {result.program.name}"):
                race, again = repeat_measurement(
                    result.program, result.result, record["measured"], where
                )
    except InputError as error:
        return console.changed(str(error), as_json)
    if as_json:
        more = {} if again is None else {"measured": again}
        return console.CommandResult(document={"agrees": True, **result.to_json(), **more})
    _print(result)
    if race is not None and again is not None:
        _print_race(race, again["validated_sizes"])
    console.write_text(holds, fg="green")
    return console.CommandResult()


def _program(target: str, definition: str | None) -> TermProgram:
    if target.lstrip().startswith("("):
        return parse_program(target, "<term>", definition)
    text = read_small_file(target, "a term", "a file, or a term in quotes that begins with '('")
    return parse_program(text, target, definition)


def _rules(names: Sequence[str]) -> tuple[TermRule, ...]:
    term_rules: list[tuple[TermRule, ...]] = []
    for name in names:
        if name in RULE_SETS:
            term_rules.append(rules_named(name))
            continue
        text = read_small_file(name, "rules", f"a file, or one of {', '.join(RULE_SETS)}")
        rules = tuple(parse_rules(text, name))
        check_rules(rules, name)
        term_rules.append(rules)
    return merge_rules(term_rules)


def _print(outcome: Outcome) -> None:
    program = outcome.program
    if isinstance(outcome, SaturationRecord | ProgramRecord):
        _print_saturation(outcome)
        return
    console.heading("a term" if program.name == "it" else program.name)
    console.write_text(
        f"  {outcome.costs[0]:>12g}  {console.shorten(text_of(outcome.terms[0]), _LONGEST)}"
    )
    for step, term, cost in zip(outcome.steps, outcome.terms[1:], outcome.costs[1:], strict=True):
        console.write_text(f"  {cost:>12g}  {console.shorten(text_of(term), _LONGEST)}")
        console.write_text(f"  {'':12}  by {step}")
    if not outcome.steps:
        console.write_text("  no cheaper term was found")
        return
    saved = 1.0 - outcome.costs[-1] / outcome.costs[0] if outcome.costs[0] else 0.0
    console.write_text(
        f"  {outcome.costs[0]:g} → {outcome.costs[-1]:g}, {saved:.1%} less, "
        f"in {len(outcome.steps)} steps"
    )


def _print_saturation(saturation: SaturationRecord | ProgramRecord) -> None:
    program, is_complete = saturation.program, False
    if isinstance(saturation, ProgramRecord):
        cost, nodes = saturation.cost, saturation.nodes
    else:
        found = saturation.result_term
        cost, nodes, is_complete = found.cost, found.nodes, found.is_complete
    console.heading("a term" if program.name == "it" else program.name)
    console.write_text(
        f"  {saturation.initial_cost:>12g}  {console.shorten(text_of(program.body), _LONGEST)}"
    )
    text = console.shorten(text_of(saturation.result.body), _LONGEST)
    console.write_text(f"  {cost:>12g}  {text}")
    size = "all that the rules lead to" if is_complete else "as far as it may grow"
    console.write_text(f"  {len(saturation.rules)} rules, an e-graph of {nodes} nodes: {size}")
    saved = 1.0 - cost / saturation.initial_cost if saturation.initial_cost else 0.0
    console.write_text(f"  {saturation.initial_cost:g} → {cost:g}, {saved:.1%} less")


def _print_race(race: TimingComparison, compared_at: dict[str, int] | None) -> None:
    """Say what code came of two programs, and how long it runs."""
    first, last = race.timings
    console.heading("code")
    console.write_text(last.code.rstrip())
    sizes = console.sizes_text(race.sizes)
    console.heading(f"measured{f', {sizes}' if sizes else ''}")
    for name, timing in (("at first", first), ("at last", last)):
        if timing.seconds is None:
            console.write_text(f"  {name:>9}  {timing.failure}", fg="red")
        else:
            console.write_text(
                f"  {name:>9}  {console.format_seconds(timing.seconds)}, "
                f"in the order {timing.schedule}"
            )
    ratio = race.speedup()
    if ratio is not None:
        rounds = len(first.samples)
        console.write_text(f"  {ratio:.2f} times as fast, the median of {rounds} rounds in turn")
    if compared_at is None:
        console.write_text(
            "  not compared with the interpreter: no sizes at which it has a value soon enough"
        )
    else:
        at = console.sizes_text(compared_at.items())
        console.write_text(f"  both compute what the interpreter does{f' at {at}' if at else ''}")
