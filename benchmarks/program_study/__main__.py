"""What searches find for whole programs, with equally many states.

    python -m benchmarks.program_study compare --out rows.json --weights runs/programs
    python -m benchmarks.program_study products --out products.json
    python -m benchmarks.program_study report --out rows.json

`compare` searches the programs of Figures 6 and 7 and the twenty that were written to test on.
`learned` is A* with the networks of a training, one row a seed. Rows that are there are not done
again. Run it from the root of a clone, with PYTHONPATH=. there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.program_study.methods import METHODS, comparison
from benchmarks.program_study.products import product_study
from benchmarks.program_study.report import report


def main() -> int:
    """Run a part of the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("compare", "products", "report"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--weights", type=Path, help="the folder of a training")
    parser.add_argument("--states", type=int, default=600)
    parser.add_argument("--only", default="", help=f"methods, of {', '.join(METHODS)}")
    chosen = parser.parse_args()
    rows = json.loads(chosen.out.read_text()) if chosen.out.exists() else []
    if chosen.part == "report":
        sys.stdout.write(report(rows))
        return 0
    if chosen.part == "products":
        found = product_study()
    else:
        methods = [name for name in chosen.only.split(",") if name] or list(METHODS)
        found = comparison(rows, methods, chosen.states, chosen.weights)
    for row in found:
        rows.append(row)
        sys.stdout.write(f"{json.dumps(row)}\n")
        sys.stdout.flush()
        chosen.out.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
