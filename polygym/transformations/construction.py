"""A construction in progress: the state so far, and the steps that are taken from it.

Where there are two ways, a construction asks which to take (:meth:`Construction.takes_other`): its
answers are given beforehand, by the number of the question, so that it can be repeated with others.
"""

from __future__ import annotations

from polygym.errors import InputError
from polygym.transformations.loop_tree import Loop, LoopTree, Node
from polygym.transformations.state import TransformState
from polygym.transformations.steps import TreeStep

MOST_STEPS = 600
"""Steps after which a construction is given up."""


class StuckError(InputError):
    """The end of a construction before its target."""


class Construction:
    """A state that changes by legal steps, and the number of choices so far."""

    def __init__(self, state: TransformState, others: frozenset[int] = frozenset()) -> None:
        """``others`` are the numbers of the choices at which the other way is taken."""
        self.state = state
        self.choices = 0
        self._others = others
        self._left = MOST_STEPS

    @property
    def tree(self) -> LoopTree:
        """The tree so far."""
        return self.state.tree

    def attempt(self, step: TreeStep) -> bool:
        """Take a step, and return whether it is legal.

        Raises:
            StuckError: there are too many steps.
        """
        (verdict,) = self.state.verdicts([step])
        if verdict.state is None:
            return False
        self._left -= 1
        if self._left < 0:
            raise StuckError(f"more than {MOST_STEPS} steps")
        self.state = verdict.state
        return True

    def do(self, step: TreeStep) -> None:
        """Take a step.

        Raises:
            StuckError: it is not legal, or there are too many steps.
        """
        if not self.attempt(step):
            (verdict,) = self.state.verdicts([step])
            raise StuckError(verdict.reason)

    def takes_other(self) -> bool:
        """Whether the other of two ways is taken at this place."""
        self.choices += 1
        return self.choices - 1 in self._others

    def node(self, name: str) -> Node:
        """Return a node by its name."""
        return self.tree.nodes[name]

    def loop(self, name: str) -> Loop:
        """Return a loop by its name."""
        node = self.node(name)
        assert isinstance(node, Loop)
        return node

    def body(self, name: str) -> list[str]:
        """Return the names of the nodes in a loop."""
        return [child.name for child in self.loop(name).body]

    def around(self, name: str) -> tuple[Loop, ...]:
        """Return the loops around a node, outermost first."""
        return self.tree.paths[name]
