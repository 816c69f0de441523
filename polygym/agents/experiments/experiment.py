"""An experiment as a value: an environment, kernels, an algorithm and its hyperparameters.

A file names one environment. The entries below the name describe the training::

    polygym/Optimize-v0:
      algorithm: maskable-ppo        # or ppo, a2c, dqn, cloning, expert-iteration; knossos
      network: sets                  # sets or mlp
      kernels: split:train           # a selection; parts of splits are entries
      arguments:                     # of the environment, without kernel and seed
        reward: log_model
        start: isl
      wrappers: [RandomOrderKernels] # a name, or a name with arguments
      hyperparameters:               # of the algorithm
        n_steps: 256
      steps: 100000                  # of each seed
      n_envs: 8                      # episodes that are stepped together
      every: 4096                    # steps between evaluations and checkpoints
      evaluation:
        kernels: gemm, mvt
        episodes: 1
      seeds: [0, 1, 2]

Cloning has one more entry, ``teacher``, the source of its demonstrations: a rule (``earliest``),
``search`` (the best episodes that a search finds), ``corpus`` (the corpora that ship with polygym),
or the file of a corpus.

``initial: runs/clone`` begins with the networks of another training, each seed with that of the
same seed.

For ``polygym/Rewrite-v0`` kernels are terms, the algorithm is knossos, and a step is an epoch
(:mod:`polygym.agents.experiments.rewrite_terms`).

For ``polygym/Saturate-v0`` kernels are tensor graphs, such as ``vgg19:bias, random:0-99``, and the
network is ``mlp``.

All entries but ``kernels`` and ``steps`` are optional.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polygym.mdp.policies.registry import POLICIES

SATURATE = "polygym/Saturate-v0"
"""The environment whose kernels are tensor graphs."""

KNOSSOS, GRAPH = "knossos", "graph"
"""Algorithm and network of experiments on terms."""

ROLLOUT_ALGORITHMS = ("maskable-ppo", "ppo", "a2c")
"""Those that learn from whole rollouts, which several environments may fill together."""

NETWORK_SHARING_ALGORITHMS = ("maskable-ppo", "cloning", "expert-iteration")
"""Those whose networks may begin another training, and that may begin with one."""

ALGORITHMS = ("maskable-ppo", "ppo", "a2c", "dqn", "cloning", "expert-iteration", KNOSSOS)
NETWORKS = ("sets", "mlp")
CORPUS_TEACHER = "corpus"
"""The teacher that stands for the corpora that ship with polygym."""

SEARCH_TEACHER = "search"
"""The teacher that searches the episodes of each program for good ones."""

RESERVED_ARGUMENTS = ("kernel", "graph", "seed", "render_mode")
"""Arguments of environments that other entries of an experiment determine."""


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """Kernels of an evaluation, and episodes on each; no kernels: no evaluation."""

    kernels: str = ""
    episodes: int = 1


@dataclass(frozen=True, slots=True)
class Experiment:
    """The entries of an experiment, with the meaning that the module's docstring gives."""

    environment: str
    kernels: str
    steps: int
    algorithm: str = "maskable-ppo"
    network: str = "sets"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    wrappers: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    every: int = 4096
    evaluation: EvaluationPlan = field(default_factory=EvaluationPlan)
    seeds: tuple[int, ...] = (0,)
    teacher: str = ""
    n_envs: int = 1
    initial: str = ""

    def document(self) -> dict[str, Any]:
        """Return the content of a file that reads back as an equal value."""
        own = asdict(self)
        del own["environment"]
        own["wrappers"] = [{name: dict(given)} if given else name for name, given in self.wrappers]
        own["seeds"] = list(self.seeds)
        for name in ("teacher", "initial"):
            if not own[name]:
                del own[name]
        return {self.environment: own}

    def initial_file(self, seed: int) -> Path | None:
        """Return the file of the network with which a seed begins; None for a new one."""
        return Path(self.initial) / f"seed-{seed}" / "model.zip" if self.initial else None


def is_corpus_file(teacher: str) -> bool:
    """Whether a teacher is the file of a corpus."""
    return teacher not in (CORPUS_TEACHER, SEARCH_TEACHER, "", *POLICIES)
