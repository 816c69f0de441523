"""Environments of tensor graphs: ``polygym/Saturate-v0`` and ``polygym/Substitute-v0``.

``saturate`` and ``substitute`` are the environments: thin shells, whose common part is ``base``,
around the processes ``saturation`` and ``substitution``, which are values. A ``task`` is what an
episode is about, ``groups`` divide its rules, ``extracting`` takes a graph out of an e-graph, and
``candidates`` are the substitutions that a graph allows. ``shown`` puts graphs into flat arrays,
``render`` into text and pictures, ``records`` episodes into JSON, and ``replaying`` plays them
again. ``policies`` are those that an agent has to beat. ``numbers`` checks arguments,
``documentation`` is what docstrings share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.graphs.envs.base import GraphEnv
    from polygym.graphs.envs.groups import Group, group_of
    from polygym.graphs.envs.policies import Steepest, Tensat
    from polygym.graphs.envs.replaying import replay
    from polygym.graphs.envs.saturate import SaturateEnv
    from polygym.graphs.envs.substitute import SubstituteEnv
else:
    __getattr__ = lazily(
        __name__,
        {
            "base": ("GraphEnv",),
            "groups": ("Group", "group_of"),
            "policies": ("Steepest", "Tensat"),
            "replaying": ("replay",),
            "saturate": ("SaturateEnv",),
            "substitute": ("SubstituteEnv",),
        },
    )

__all__ = [
    "GraphEnv",
    "Group",
    "SaturateEnv",
    "Steepest",
    "SubstituteEnv",
    "Tensat",
    "group_of",
    "replay",
]
