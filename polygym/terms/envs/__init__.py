"""The environment of terms, ``polygym/Rewrite-v0``.

``rewrite`` is the environment, a shell around an immutable ``episode``. ``encoding`` makes flat
arrays of terms, ``records`` JSON of episodes.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.terms.envs.records import replay_episode
    from polygym.terms.envs.rewrite import RewriteEnv
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["RewriteEnv", "replay_episode"]
