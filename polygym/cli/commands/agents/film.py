"""``polygym film``: one episode of an agent as a film."""

from pathlib import Path
from typing import Any

import click

from polygym.cli.interrupts import interrupts_raise
from polygym.cli.options.agents import AGENT_HELP, agent_options
from polygym.cli.options.common import json_option, program_argument
from polygym.cli.options.values import count_option
from polygym.cli.output.console import CommandResult, answer, write_text
from polygym.errors import InputError

_HELP = """Watch a trained agent, or a rule, on a program: one episode as a film.

The episode is the first one of `polygym evaluate`. FILE ends in .gif or .mp4, or has no ending:
then it is a folder of pictures. The film has a frame for the beginning and one for every step; the
last one is held. Reward, status and schedule are printed at the end.

\b
Examples:
  polygym film runs/mvt mvt --out mvt.gif
  polygym film earliest gemm --out gemm.mp4
  polygym film uniform mvt --seed 7 --set start=isl \\
      --environment polygym/Optimize-v0 --out frames
"""


@click.command("film", help=_HELP, epilog=AGENT_HELP)
@agent_options
@program_argument
@count_option(
    "--seed",
    least=0,
    help="Random seed of a rule, or a seed of the training. (Default: its first.)",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The film, or a folder of pictures.",
)
@click.option("--fps", type=float, metavar="X", help="Frames a second. (Default: 4.)")
@json_option
def command(
    agent: str,
    environment: str,
    overrides: tuple[str, ...],
    simulations: int | None,
    beam_width: int | None,
    target: str,
    seed: int | None,
    out: Path,
    fps: float | None,
    as_json: bool,
) -> CommandResult:
    """Write a film."""
    from polygym.agents.evaluation.agent_sources import (
        LookaheadOptions,
        policy_of_agent,
        with_environment_arguments,
    )
    from polygym.agents.evaluation.episode_film import EpisodeFrames, episode_report
    from polygym.agents.evaluation.videos import (
        LEAST_FPS,
        MOST_FPS,
        expect_video_path,
        write_video,
    )
    from polygym.agents.experiments.environments import make_env
    from polygym.agents.experiments.splits import selected_kernels

    programs = selected_kernels(target)
    if len(programs) != 1:
        raise InputError(f"PROGRAM: expected one program, found {', '.join(programs)}")
    if fps is not None and not LEAST_FPS <= fps <= MOST_FPS:
        raise InputError(f"--fps: expected {LEAST_FPS} to {MOST_FPS:.0f}, found {fps}")
    expect_video_path(out)
    lookahead = LookaheadOptions(simulations, beam_width)
    experiment, policy = policy_of_agent(agent, environment, seed, lookahead)
    experiment = with_environment_arguments(experiment, overrides, render_mode="rgb_array")
    env = make_env(experiment, programs[0])
    episode = EpisodeFrames(env, policy, Path(agent).name)
    with interrupts_raise():  # so that no part of a film is left behind
        count = write_video(out, episode, fps or env.metadata["render_fps"])
    env.close()
    assert episode.ending is not None
    ending = episode.ending
    document: dict[str, Any] = {
        "film": str(out),
        "frames": count,
        "reward": ending.reward,
        "steps": ending.steps,
        "status": ending.info["status"],
        "speedup": ending.info["speedup"],
        "schedule": ending.info["schedule"],
    }
    text = f"{episode_report(ending)}\nfilm      {out}, {count} frames"
    return answer(as_json, document, lambda: write_text(text))
