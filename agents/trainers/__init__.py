"""Who does the intervals of a training, behind one protocol, whatever the algorithm.

A *interval* is so many steps, from one checkpoint to the next (:mod:`agents.trainers.training`); a
*learner* does one. ``protocol`` says what that is, ``learners`` which one an algorithm has,
``beginning`` loads what every interval begins with. ``baselines`` are the algorithms of
stable-baselines3 and sb3-contrib as they are, and ``replays`` keeps what DQN learns from.
``cloning`` learns to do what a teacher did in ``demonstrations``, ``iteration`` what a search finds
that the network itself guides. These two keep ``positions``, and share how a network is ``fitting``
them. ``knossos`` trains no policy but the value function of searches over terms. ``options`` are
the hyperparameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from agents.trainers.learner_protocol import Learner
    from agents.trainers.learner_registry import learner_of
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["Learner", "learner_of"]
