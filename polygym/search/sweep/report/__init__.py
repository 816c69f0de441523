"""The report of a sweep: pictures for a paper and one page that holds everything.

``figures`` makes the pictures of what :mod:`polygym.search.sweep.reader` has read, ``page`` the
HTML with its table, and ``files`` writes them.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.sweep.report.files import write_report
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "write_report",
]
