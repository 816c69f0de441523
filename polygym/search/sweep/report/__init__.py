"""The report of a sweep: pictures for a paper and one page that holds everything.

``figures`` makes the pictures of what :mod:`polygym.search.sweep.reading` has read, ``page`` the
HTML with its table, and ``files`` writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.search.sweep.report.files import write_report
else:
    __getattr__ = lazily(
        __name__,
        {
            "files": ("write_report",),
        },
    )

__all__ = [
    "write_report",
]
