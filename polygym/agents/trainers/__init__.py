"""Learners behind one protocol, whatever the algorithm, and the trainings that run them.

``training`` trains in intervals, from one checkpoint to the next; a learner of
``learner_protocol``, chosen by ``learner_registry``, trains one from a ``trainer_state``.
``baselines`` are the algorithms of stable-baselines3 and sb3-contrib, with ``delayed_rewards``.
``cloning`` imitates ``demonstrations``: those of ``search_demonstrations``, or the
``corpus_episodes`` that lead to measured candidates, which ``minari_export`` writes as a data set.
``expert_iteration`` imitates a search that the network guides; both fit the network to a
``policy_dataset``. ``knossos`` trains the value function of searches over terms.
``training_tables`` and ``tensorboard_logs`` are the outputs.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.agents.trainers.learner_protocol import Learner
    from polygym.agents.trainers.learner_registry import learner_of
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["Learner", "learner_of"]
