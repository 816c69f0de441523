"""Programs on the GPU of this machine: right beside the CPU, then tuned, then beside PyTorch.

    python -m benchmarks.gpu --out gpu-results
    python -m benchmarks.gpu --only library,kernel
    python -m benchmarks.gpu --check

Under eight minutes in all (``--seconds``); what a run has not done, the next one with the same
folder does, if it has the same GPU and the same sources; what failed is tried again.
``results.jsonl`` has a line for each result, ``GPU.md`` is the page of them. What the machine lacks
is said at once, and nothing else happens: NVIDIA's driver, PyTorch, libdevice, wheels.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from benchmarks.gpu import requirements
from benchmarks.gpu.clock import Deadline

STEPS = ("library", "kernel", "mappings", "rows", "product", "stencils")
SECONDS = 470.0
# Of each step, in seconds; what one leaves, or has no rows for, others have.
_SHARES = {
    "library": 60.0,
    "kernel": 40.0,
    "mappings": 70.0,
    "rows": 200.0,
    "product": 60.0,
    "stencils": 30.0,
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--out", type=Path, default=Path("gpu-results"), help="folder of results")
    result.add_argument("--seconds", type=float, default=SECONDS, help="time in all")
    result.add_argument("--only", default=",".join(STEPS), help=f"steps: {', '.join(STEPS)}")
    result.add_argument("--check", action="store_true", help="say what is missing, and end")
    result.add_argument("--device", type=int, default=0, help="the number of the GPU")
    result.add_argument("--seed", type=int, default=0, help="of the random mappings")
    return result


def missing() -> list[str]:
    """Return what the machine lacks, in words."""
    modules = requirements.missing_modules()
    if modules:
        return modules
    lacks = [*requirements.missing_code_generation(), *requirements.missing_libdevice()]
    return [*requirements.missing_driver(), *lacks] or requirements.missing_torch_device()


def main(words: list[str] | None = None) -> int:
    """Run the steps; 0 when all outputs are right, 1 when one is not or there are none.

    It is 2 when the machine lacks something.
    """
    arguments = parser().parse_args(words)
    steps = [step for step in arguments.only.split(",") if step]
    if unknown := set(steps) - set(STEPS):
        parser().error(f"--only: expected some of {', '.join(STEPS)}, found {sorted(unknown)}")
    lacks = missing()
    for text in lacks:
        print(f"missing: {text}", file=sys.stderr)
    if lacks or arguments.check:
        return 2 if lacks else 0
    from benchmarks.gpu.running import run_steps

    deadline = Deadline(arguments.seconds)
    shares = {step: _SHARES[step] for step in STEPS if step in steps}
    return run_steps(
        shares, arguments.out, deadline, arguments.device, arguments.seed, date.today().isoformat()
    )


if __name__ == "__main__":
    sys.exit(main())
