"""Hill climbing by lines of text: the scripted agent in the place of a language model.

Run with::

    python examples/text_agent.py [KERNEL [TRANSCRIPT.json]]

It prints what it sends, but for questions, and the first lines of the replies.
"""

import json
import sys
from pathlib import Path

import numpy as np

from polygym.envs import TextView
from polygym.text_interface import climb

QUESTIONS = ("show", "steps", "check")


def main(kernel: str = "seidel-2d", file: str = "") -> None:
    env = TextView(kernel, dataset="medium", evaluations=12)
    env.reset(seed=0)

    def talk(line: str) -> tuple[str, str]:
        observation, *_, info = env.step(line)
        reply = observation.rpartition("\n\nReply (")[2].partition("):\n")[2]
        status = str(info["line_status"])
        if not line.startswith(QUESTIONS) or status == "illegal":
            shown = [
                one for one in reply.splitlines() if one.startswith(("ok:", "Try:", "stopped"))
            ]
            print("\n".join([f"> {line}", *(one[:90] for one in shown)]))
        return status, reply

    end = climb(talk, np.random.default_rng(0))
    print(f"\n{end.worth:.2f} times as fast as LLVM -O3 of the source, by: {'; '.join(end.steps)}")
    if file:
        Path(file).write_text(json.dumps(env.export(), indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
