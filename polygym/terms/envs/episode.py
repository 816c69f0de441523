"""Episodes of rewriting, as values: a term, the steps that are left, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polygym.errors import InputError, PolygymError
from polygym.lru import Memory
from polygym.rewrite.term import Term
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import binds, facts, index_of
from polygym.terms.language.program import Program
from polygym.terms.rewriter import Place, Rewriter, Step

__all__ = ["ILLEGAL", "MOST_ILLEGAL", "STOP", "Episode", "Layout", "Task", "layout_of"]

STOP = 0
"""The action that ends an episode."""

ILLEGAL = -0.1
MOST_ILLEGAL = 100

_REMEMBERED = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A term written out: its nodes in the order of their text, and the actions that it allows.

    ``nodes`` has the node, the row of what it is a part of (-1 for the whole term), which part it
    is, and the row of the binder of a variable (-1 without one).
    """

    nodes: tuple[tuple[Term, int, int, int], ...]
    actions: frozenset[int]

    def place(self, row: int) -> Place:
        """Return the place of a node."""
        found: list[int] = []
        while row > 0:
            _, parent, at, _ = self.nodes[row]
            found.append(at)
            row = parent
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What episodes on a program share; ``relative`` pays shares of the start's cost."""

    program: Program
    rewriter: Rewriter
    cost: StaticCost
    steps: int
    max_nodes: int
    relative: bool = False
    layouts: Memory[Term, Layout] = field(default_factory=lambda: Memory(_REMEMBERED))

    @property
    def actions(self) -> int:
        """How many actions there are: to stop, and every rule at every row."""
        return 1 + self.max_nodes * len(self.rewriter.rules)

    def start(self) -> Episode:
        """Return an episode that begins.

        Raises:
            InputError: the term has more nodes than are shown.
        """
        nodes = facts(self.program.body).nodes
        if nodes > self.max_nodes:
            raise InputError(
                f"{self.program.name}: expected a term of at most {self.max_nodes} nodes "
                f"(max_nodes), found {nodes}"
            )
        return Episode(self, self.program.body, self.steps)

    def layout(self, one: Term) -> Layout:
        """Return a term as it is written out."""
        return self.layouts.get(one, lambda: layout_of(one, self.rewriter, self.max_nodes))

    def step(self, one: Term, action: int) -> Step:
        """Return the step that an action other than stopping is."""
        row, rule = divmod(action - 1, len(self.rewriter.rules))
        layout = self.layout(one)
        if row >= len(layout.nodes):
            raise InputError(f"action {action}: expected a node, found row {row} empty")
        return Step(self.rewriter.rules[rule], layout.place(row))


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """A state, and the actions that led there."""

    task: Task
    term: Term
    left: int
    actions: tuple[int, ...] = ()
    steps: tuple[Step, ...] = ()
    illegal: int = 0
    status: str = "running"
    reward: float = 0.0
    refused: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.status != "running"

    @property
    def cost(self) -> float:
        """What the term costs."""
        return self.task.cost(self.term)

    @property
    def initial_cost(self) -> float:
        """What the first term costs."""
        return self.task.cost(self.task.program.body)

    def allowed(self) -> frozenset[int]:
        """Return the actions that are possible; none after the end."""
        if self.is_over:
            return frozenset()
        return self.task.layout(self.term).actions

    def after(self, action: int) -> Episode:
        """Return the state after an action; one that is not possible costs, and changes nothing."""
        if self.is_over:
            raise InputError("an action: expected an episode that has not ended")
        if action == STOP:
            return replace(
                self, actions=(*self.actions, action), status="stopped", reward=0.0, refused=""
            )
        if action not in self.allowed():
            return self._refusing(action)
        step = self.task.step(self.term, action)
        made = self.task.rewriter.after(self.term, step)
        saved = self.cost - self.task.cost(made)
        if self.task.relative:
            saved /= self.initial_cost or 1.0
        return replace(
            self,
            term=made,
            left=self.left - 1,
            actions=(*self.actions, action),
            steps=(*self.steps, step),
            status="running" if self.left > 1 else "out of steps",
            reward=saved,
            refused="",
        )

    def _refusing(self, action: int) -> Episode:
        try:
            step = self.task.step(self.term, action)
            self.task.rewriter.after(self.term, step)
            reason = f"{step}: expected at most {self.task.max_nodes} nodes afterwards, found more"
        except PolygymError as error:
            reason = str(error)
        return replace(
            self,
            illegal=self.illegal + 1,
            status="invalid" if self.illegal + 1 >= MOST_ILLEGAL else "running",
            reward=ILLEGAL,
            refused=reason,
        )


def layout_of(root: Term, rewriter: Rewriter, most: int) -> Layout:
    """Write a term out, in the order of its text, with what each node allows."""
    rules = len(rewriter.rules)
    total = facts(root).nodes
    nodes: list[tuple[Term, int, int, int]] = []
    actions = {STOP}
    stack: list[tuple[Term, int, int, tuple[int, ...]]] = [(root, -1, 0, ())]
    while stack:
        one, parent, at, scope = stack.pop()
        row = len(nodes)
        index = index_of(one) if not one.children else -1
        nodes.append((one, parent, at, scope[-1 - index] if 0 <= index < len(scope) else -1))
        if parent >= 0:
            around = rewriter.offers(nodes[parent][0])[1 + at]
            actions.update(1 + row * rules + rule for rule, more in around if total + more <= most)
        if one.children:
            own = rewriter.offers(one)[0]
            actions.update(1 + row * rules + rule for rule, more in own if total + more <= most)
            for place in range(len(one.children) - 1, -1, -1):
                inner = (*scope, row) if binds(one, place) else scope
                stack.append((one.children[place], row, place, inner))
    return Layout(tuple(nodes), frozenset(actions))
