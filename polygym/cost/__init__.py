"""What candidates cost: features of their loops, and models that learn from measurements.

``ground`` is what all schedules of a program share, ``shape`` what it looks like before, ``bodies``
what its innermost loops do, whatever things are called (scalars are ``followed`` to arrays).
``reach`` is what statements do at given
sizes, whatever the schedule (``counts`` says how often, ``steps`` by how much their loops grow);
``nests`` the loops around them, which are found in a ``planned`` tree, ``lines`` what these touch;
``columns`` says which numbers of these there are, ``nest_columns`` works them out for many nests,
by what all of them touch (``touches``), and what they read from copies (``packs``) of arrays that
are ``packable``; ``own_memory`` says which arrays a thread has for itself;
``candidate`` has the numbers of a schedule under a mapping; ``loop_tree`` keeps the loops
themselves, ``configuration`` the entries of the mapping. ``model`` says what models are and learn
from; ``trees`` are the boosted ones, one of which is ``shipped`` with the package (``tree_files``
are their files; as ``walked_trees`` they are asked without LightGBM); ``tree_gru`` is the network
that walks over loops (``tree_network``), with as many ``torch_threads`` as it is told; a
``network`` of a few layers, which NumPy asks and PyTorch trains (``network_training``), is what
policies learn by; a ``correction`` adds to either what one program's measurements say; ``saved``
reads either from a file, ``chosen`` says which one is asked, ``archives`` keep networks, and
``validation`` asks them about programs that they have not seen. ``rows`` are numbers of a schedule
alone, without a tree: ``stacked`` loops of the statements in a ``stack``, and what their
``ordering`` leaves free, by what dependences demand (``demands``); ``row_columns`` says which
numbers there are. ``limit`` is a package: how fast a program could be.
"""

from __future__ import annotations

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
    from polygym.cost.models.model_files import load_model
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
