"""Results of a nest: a row of the table, as JSON and back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

AS_IS = "as is"
IN_PART = "in part"
NOT_MODELLED = "no"
OPTION = "option"

WRONG = "wrong"
CRASHED = "crash"
REFUSED_RIGHTLY = "refuse: "


LEAST_SECONDS = 1e-3
"""Nests that take less time at all sizes have no speedup in the table."""


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """A nest and how far it came.

    ``modelled`` is "as is", "option" with the options in ``options``, "in part" (loops inside
    alone), or "no". ``legal`` and ``equal`` are "yes", "", or what went wrong. ``equal`` names what
    agrees: "gcc" (the file's function), "program" (the whole program, built with the fast loops,
    which ran them), or "source" where only the source order could be compared with. ``ratio`` is
    the time of the source over the automatic schedule's, ``seconds`` the source's. ``expected`` is
    the judgement of the list: "accept", "refuse: KIND", or "" where there is no list.
    """

    file: str
    function: str
    nest: str
    line: int
    expected: str = ""
    habit: str = ""
    found: bool = False
    modelled: str = NOT_MODELLED
    options: str = ""
    legal: str = ""
    equal: str = ""
    ratio: float | None = None
    seconds: float | None = None
    sizes: str = ""
    reason: str = ""
    place: str = ""
    kind: str = ""
    detail: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The name of the nest."""
        return (self.file, self.function, self.nest)

    @property
    def is_modelled(self) -> bool:
        """Whether the front end takes the whole nest."""
        return self.modelled in (AS_IS, OPTION)

    @property
    def is_refused_rightly(self) -> bool:
        """Whether it is refused, and the list says so."""
        return not self.is_modelled and self.expected.startswith(REFUSED_RIGHTLY)

    @property
    def is_shortcoming(self) -> bool:
        """Whether it is refused, and the list says that it should not be."""
        return not self.is_modelled and self.expected == "accept"

    @property
    def is_defect(self) -> bool:
        """Whether an output is wrong, or something crashed."""
        texts = (self.legal, self.equal, self.kind)
        return any(text.startswith((WRONG, CRASHED)) for text in texts)

    @property
    def is_equal(self) -> bool:
        """Whether outputs were compared with another compiler's, and agree."""
        return self.equal in ("gcc", "program", "gcc, program")

    @property
    def speedup(self) -> float | None:
        """The ratio of times, of a nest whose source takes a millisecond or more; else None."""
        return self.ratio if (self.seconds or 0.0) >= LEAST_SECONDS else None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def row_from_json(data: Mapping[str, Any]) -> CoverageRow:
    """Return a row of a journal; members that are not known are left out."""
    known = {field.name for field in fields(CoverageRow)}
    return CoverageRow(**{name: value for name, value in data.items() if name in known})
