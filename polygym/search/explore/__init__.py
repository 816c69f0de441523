"""The search for fast schedules: episodes are played, their schedules measured, the best is kept.

``explorer`` is the loop without files and terminals: it yields an event for every episode.
``players`` play the episodes. ``setting`` is all that determines which schedules it explores, under
``conditions`` that a sweep has too; ``journal`` the file that has every event the moment it is
known, ``folder`` the results of one search in one directory, and ``tally`` what the outcomes amount
to; ``tuning`` looks for the mapping of the best few in its ``neighbourhood``, and ``trials`` keeps
those. ``course`` is a search from its beginning to its end, which is a ``ranking``; ``tried_again``
gives what everything is compared with more than one chance, and ``means`` are those of ratios.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.episode_loop import explore_episodes
    from polygym.search.folder import SearchFolder, create_search, resume_search, search_summary
    from polygym.search.settings import SearchSetting
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "SearchFolder",
    "SearchSetting",
    "create_search",
    "explore_episodes",
    "resume_search",
    "search_summary",
]
