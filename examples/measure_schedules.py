"""A C loop of your own: is a schedule legal, and how fast is it?

python examples/measure_schedules.py
"""

from pathlib import Path

from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import find_violation
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import Evaluator


def main() -> None:
    program = load_program(
        str(Path(__file__).with_name("blur.c")), parameters={"n": 2000, "m": 2000}
    )
    schedules = {
        "the text's order": original_schedule(program.scop),
        "isl's": isl_schedule(program.scop),
        "interchanged": parse_schedule("{ S[j, i] -> [i, j] }", program.scop),
        "all at once": parse_schedule("{ S[j, i] -> [0] }", program.scop),
    }
    with Evaluator(program) as evaluator:
        for name, schedule in schedules.items():
            violation = find_violation(program.scop, schedule)
            if violation is not None:
                print(f"{name}: illegal, {violation}")
                continue
            evaluation = evaluator.evaluate(schedule, parse_mapping("default"))
            print(
                f"{name}: {evaluation.status.value}, {evaluation.speedup:.2f} times as fast, "
                f"{schedule}"
            )


if __name__ == "__main__":
    main()
