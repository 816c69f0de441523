"""The environments' names in Gymnasium's registry."""

from collections.abc import Mapping
from types import MappingProxyType

from polygym.mdp.env_ids import CONSTRUCT, EXPLORE, OPTIMIZE, SCHEDULE, TRANSFORM

ENTRY_POINTS: Mapping[str, str] = MappingProxyType(
    {
        CONSTRUCT: "polygym.envs.schedule:ConstructEnv",
        EXPLORE: "polygym.envs.schedule:ExploreEnv",
        SCHEDULE: "polygym.envs.schedule:ScheduleEnv",
        OPTIMIZE: "polygym.envs.optimize:OptimizeEnv",
        TRANSFORM: "polygym.envs.transform:TransformEnv",
    }
)


VECTOR_ENTRY_POINTS: Mapping[str, str] = MappingProxyType(
    {
        CONSTRUCT: "polygym.envs.vector:ConstructVectorEnv",
        EXPLORE: "polygym.envs.vector:ExploreVectorEnv",
        SCHEDULE: "polygym.envs.vector:ScheduleVectorEnv",
        OPTIMIZE: "polygym.envs.vector:OptimizeVectorEnv",
        TRANSFORM: "polygym.envs.vector:TransformVectorEnv",
    }
)


def register_env_ids(others: Mapping[str, str] = MappingProxyType({})) -> None:
    """Register every environment that is not registered yet; nothing of them is imported.

    ``others`` are the entry points of environments that stand above this package. All are
    nondeterministic: the default reward is a time, or may be one. Gymnasium knows one answer for an
    id, so this holds for ``reward="static"`` too, which is deterministic.
    """
    import gymnasium

    for name, entry_point in {**ENTRY_POINTS, **others}.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point=entry_point,
                vector_entry_point=VECTOR_ENTRY_POINTS.get(name),
                nondeterministic=True,
            )
