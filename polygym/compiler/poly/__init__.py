"""Dependences and schedules: exact integer-set mathematics through isl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.compiler.poly.baselines import isl_schedule, original, schedule_by
    from polygym.compiler.poly.dependences import Dependence, Kind
    from polygym.compiler.poly.legality import (
        LegalSchedule,
        Violation,
        find_violation,
        is_legal,
    )
    from polygym.compiler.poly.schedule import Schedule, from_json, parse
    from polygym.compiler.poly.score import static_score
    from polygym.compiler.poly.strategy import IslOptions, Original, parse_strategy
else:
    __getattr__ = lazily(
        __name__,
        {
            "baselines": ("isl_schedule", "original", "schedule_by"),
            "dependences": ("Dependence", "Kind"),
            "legality": ("LegalSchedule", "Violation", "find_violation", "is_legal"),
            "schedule": ("Schedule", "from_json", "parse"),
            "score": ("static_score",),
            "strategy": ("IslOptions", "Original", "parse_strategy"),
        },
    )

__all__ = [
    "Dependence",
    "IslOptions",
    "Kind",
    "LegalSchedule",
    "Original",
    "Schedule",
    "Violation",
    "find_violation",
    "from_json",
    "is_legal",
    "isl_schedule",
    "original",
    "parse",
    "parse_strategy",
    "schedule_by",
    "static_score",
]
