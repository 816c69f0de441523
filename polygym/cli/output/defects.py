"""Report of defects: legal schedules whose code computed something else, or crashed.

Every command that measures says so in red and ends with exit code 1; ``report`` only says it.
"""

from polygym.cli.output.console import write_text
from polygym.mapping.mapping import Mapping
from polygym.runtime.evaluation.evaluation_results import Defects


def report_defects(defects: Defects, mapping: Mapping, program: str = "") -> None:
    """Say it in red; nothing where all was right. ``program`` is whose schedules they are."""
    before = f"{program}: " if program else ""
    for count, what, blame in (
        (defects.wrong, "wrong outputs", mapping.mismatch_reason),
        (defects.crashed, "crashes", "a defect of polygym"),
    ):
        if count:
            write_text(f"{before}{count} {what}: {blame}", err=True, fg="red", bold=True)
