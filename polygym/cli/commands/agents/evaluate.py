"""``polygym evaluate``: trained agents, or rules, act on programs."""

from dataclasses import asdict
from pathlib import Path

import click

from polygym.cli.interrupts import EXIT_INTERRUPTED, interrupts_raise
from polygym.cli.options.agents import AGENT_HELP, agent_options, expect_folder_of
from polygym.cli.options.common import json_option
from polygym.cli.options.values import count_option, file_option
from polygym.cli.output.console import CommandResult, answer, write_text

_HELP = """Let a trained agent, or a rule, act on programs, and report the rewards.

Each episode is one line of --out: agent, seed, program, reward, speedup, status, and the record
that `polygym validate` plays again. `polygym compare` puts such files beside each other. --set
gives the environment another argument than the training had. A training's network may look ahead,
with --simulations or --beam-width. A note below the table names the test kernels that an agent has
learned from.

\b
Examples:
  polygym evaluate earliest --programs mvt,gemm
  polygym evaluate runs/mvt --programs split:test --out trained.jsonl
  polygym evaluate runs/mvt --programs mvt --set reward=speedup
  polygym evaluate runs/mvt --programs mvt --simulations 64
"""


@click.command("evaluate", help=_HELP, epilog=AGENT_HELP)
@agent_options
@click.option(
    "--programs",
    "selection",
    required=True,
    metavar="NAMES",
    help="Programs with commas, as commands take them; split:train and "
    "split:test are the parts of the split.",
)
@count_option("--episodes", default=1, help="Episodes of each program.")
@count_option("--seed-count", default=1, help="Random seeds of a random rule, from 0 on.")
@file_option("--out", help="The file of the results.")
@json_option
def command(
    agent: str,
    environment: str,
    overrides: tuple[str, ...],
    simulations: int | None,
    beam_width: int | None,
    selection: str,
    episodes: int,
    seed_count: int,
    out: Path | None,
    as_json: bool,
) -> CommandResult:
    """Evaluate."""
    from polygym.agents.evaluation.agent_sources import (
        LookaheadOptions,
        policies_of_agent,
        test_kernels_learned_by,
        with_environment_arguments,
    )
    from polygym.agents.evaluation.episodes import evaluate_policies, means_table
    from polygym.agents.evaluation.results import EpisodeResultLine, write_results
    from polygym.agents.experiments.splits import selected_kernels

    expect_folder_of(out, "--out")
    lookahead = LookaheadOptions(simulations, beam_width)
    experiment, policies = policies_of_agent(agent, environment, range(seed_count), lookahead)
    experiment = with_environment_arguments(experiment, overrides)
    programs = selected_kernels(selection)
    learned_from = test_kernels_learned_by(agent)
    lines: list[EpisodeResultLine] = []
    try:
        with interrupts_raise():
            for line in evaluate_policies(
                lookahead.agent_name(agent), experiment, policies, programs, episodes, learned_from
            ):
                lines.append(line)
                write_text(f"seed {line.seed}, {line.kernel}: {line.reward:.3f}", err=True)
                if out is not None:
                    write_results(out, lines)
    except KeyboardInterrupt:
        write_text("stopped; the results so far are kept", err=True)
        return answer(as_json, {"error": "interrupted"}, code=EXIT_INTERRUPTED)
    document = {"results": [asdict(line) for line in lines]}
    return answer(as_json, document, lambda: write_text(means_table(lines)))
