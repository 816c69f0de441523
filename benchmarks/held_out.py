"""The table of the held-out C programs: their regions, sizes, and which of them are accepted.

    python benchmarks/held_out.py

The twenty files of ``held_out_programs/`` are part of ``split:held-out/test``, on which nothing is
tuned; ``held_out_programs/README.md`` has the rules. This prints the table and runs nothing. Other
scripts take :func:`held_out_programs` from here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from polybench import Dataset

PROGRAM_FOLDER = Path(__file__).parent / "held_out_programs"
PROGRAMS_FILE = PROGRAM_FOLDER / "programs.json"
DATASETS = (Dataset.MINI, Dataset.SMALL, Dataset.MEDIUM, Dataset.LARGE)


@dataclass(frozen=True, slots=True)
class HeldOutProgram:
    """A C program of the split.

    Attributes:
        name: The stem of its file.
        function: The function with the loops; others in the file prepare data.
        domain: The field and the purpose.
        habits: The constructs of C in it.
        sizes: Of each data set, the sizes in the order in which the program takes them.
        has_macro_sizes: Whether these are macros, ``-D NX=24``, and no arguments of the program.
        is_accepted: Whether the front end took the whole function, at the date of the table.
        refusal: The reason, if not.
    """

    name: str
    function: str
    domain: str
    habits: str
    sizes: Mapping[Dataset, Mapping[str, int]]
    has_macro_sizes: bool
    is_accepted: bool
    refusal: str

    @property
    def path(self) -> Path:
        """The file."""
        return PROGRAM_FOLDER / f"{self.name}.c"


def held_out_programs() -> dict[str, HeldOutProgram]:
    """Return the programs by name."""
    rows = json.loads(PROGRAMS_FILE.read_text(encoding="utf-8"))["programs"]
    return {
        name: HeldOutProgram(
            name,
            row["function"],
            row["domain"],
            row["habits"],
            {dataset: row["sizes"][dataset.name] for dataset in DATASETS},
            row["sizes_are"] == "macros",
            row["accepted"],
            row["refusal"],
        )
        for name, row in rows.items()
    }


def accepted_on() -> str:
    """Return the date of what the table says about acceptance."""
    result: str = json.loads(PROGRAMS_FILE.read_text(encoding="utf-8"))["accepted_on"]
    return result


def main() -> int:
    print(f"| program | domain | accepted on {accepted_on()} |\n|---|---|---|")
    for program in held_out_programs().values():
        answer = "yes" if program.is_accepted else program.refusal
        print(f"| {program.name}: {program.function} | {program.domain} | {answer} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
