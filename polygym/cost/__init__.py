"""Costs of candidates: features of their loops, and models that learn from measurements.

``features`` are numbers of programs, statements, schedules, loops and candidates; ``models``
predict times from them, among them the trees that come with polygym (``data``); ``machine_code``
estimates the cycles of optimized code; ``limit`` bounds the speed that a program can have on a
machine.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.cost.features.candidates.candidate_vector import (
        FEATURE_NAMES,
        CandidateFeatures,
        FeatureExtractor,
        candidate_features,
    )
    from polygym.cost.features.candidates.loop_tree import LoopForest, LoopTree
    from polygym.cost.features.schedules.program_features import ProgramFeatures
    from polygym.cost.features.schedules.schedule_vector import (
        SCHEDULE_FEATURE_NAMES,
        ScheduleFeatures,
        schedule_features,
    )
    from polygym.cost.models.boosted_trees import (
        BoostedTreeOptions,
        BoostedTrees,
        train_boosted_trees,
    )
    from polygym.cost.models.cost_model import (
        Acquisition,
        CostModel,
        ModelCard,
        ModelKind,
        Objective,
        TrainingSamples,
        acquisition_values,
    )
    from polygym.cost.models.pretrained import load_model
    from polygym.cost.models.tree_gru import TreeGRU, TreeGRUOptions, train_tree_gru
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "FEATURE_NAMES",
    "SCHEDULE_FEATURE_NAMES",
    "Acquisition",
    "BoostedTreeOptions",
    "BoostedTrees",
    "CandidateFeatures",
    "CostModel",
    "FeatureExtractor",
    "LoopForest",
    "LoopTree",
    "ModelCard",
    "ModelKind",
    "Objective",
    "ProgramFeatures",
    "ScheduleFeatures",
    "TrainingSamples",
    "TreeGRU",
    "TreeGRUOptions",
    "acquisition_values",
    "candidate_features",
    "load_model",
    "schedule_features",
    "train_boosted_trees",
    "train_tree_gru",
]
