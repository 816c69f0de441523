"""Gains of the fixed policies in the graph environments, without a clock.

    python benchmarks/graph_policies.py                 # the small models of the library
    python benchmarks/graph_policies.py --size paper bert nasrnn

Prints a table: gains in percent of the static cost. A star means that the solver was stopped before
it had proved its answer, so a faster machine may gain more.
"""

from __future__ import annotations

import argparse

from polygym.graphs import library
from polygym.graphs.envs import GraphEnv, SaturateEnv, SteepestDescent, SubstituteEnv, Tensat

HEADINGS = (
    "`Tensat(0)`",
    "`Tensat(1)`",
    "`Tensat(2)`",
    "`Tensat(1, is_greedy=True)`",
    "`SteepestDescent()`",
)


def final_cost_text(env: GraphEnv, policy: Tensat | SteepestDescent) -> str:
    _, info = env.reset(seed=0)
    while info["status"] == "running":
        *_, info = env.step(policy(env))
    return f"{100 * info['gain']:.2f}" + ("*" if info["status"] == "bounded" else "")


def gains(name: str, size: str) -> list[str]:
    policies = [Tensat(0), Tensat(1), Tensat(2), Tensat(1, is_greedy=True)]
    result = [final_cost_text(SaturateEnv(name, size=size), policy) for policy in policies]
    return [*result, final_cost_text(SubstituteEnv(name, size=size), SteepestDescent())]


def main() -> None:
    parser = argparse.ArgumentParser(description="What fixed policies gain on graphs.")
    parser.add_argument("names", nargs="*", help="models of the library; all of them")
    parser.add_argument("--size", choices=library.SIZES, default="small")
    asked = parser.parse_args()
    print(f"| model | {' | '.join(HEADINGS)} |")
    print("|---" * (1 + len(HEADINGS)) + "|")
    for name in asked.names or library.NAMES:
        print(f"| {name} | {' | '.join(gains(name, asked.size))} |", flush=True)


if __name__ == "__main__":
    main()
