"""A network over the tables of an observation, which does not depend on the order of statements.

From the tables to a context and a score for every action::

    statements ─┐ rows, generator, point, nest          ┌─ attention ─┐
                ├─ token of each statement ─────────────┤             ├─ pooled ─┐
    dependences ┘ token of each, with its two statements┘             ┘          │
    progress, question, candidate, the nest and the dependence looked at ────────┴─ context
    context ─ scores of next_dim, next_dep, select_dep, and of the coefficients
    context, a row of ``choices`` ─ the score of that answer, by the same weights for each row
    in Transform-v0 each statement has the row of its innermost loop, and loops are pooled too
    context ─ the value of the state

Statements look at the dependences that touch them (attention whose weights are 0 for all others),
and all are pooled by a mean and a maximum over the rows that exist. So a permutation of statements,
with the rows of everything that names them, changes nothing but the order of sums; the tests say
so.

Tables are cut to the rows that some observation of a batch uses, which come first.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from polygym.mdp.mapping_decisions import ANSWERS
from polygym.mdp.observation.arrays import MOST_DEPENDENCES, MOST_STATEMENTS
from polygym.mdp.observation.episode_arrays import (
    DEPENDENCE_COLUMNS,
    PROGRESS_COLUMNS,
    REMAINING_COLUMNS,
    ROW_COLUMNS,
    STATEMENT_COLUMNS,
)
from polygym.mdp.observation.mapping_arrays import NEST_COLUMNS, QUESTION_COLUMNS, mapping_arrays
from polygym.mdp.observation.storage_arrays import STORAGE_CHOICES_COLUMNS, STORAGE_QUESTION_COLUMNS
from polygym.mdp.observation.transform_arrays import CHOICE_COLUMNS as STEP_COLUMNS
from polygym.mdp.observation.transform_arrays import LOOP_COLUMNS
from polygym.mdp.task_options import CONSTRUCTION_ACTIONS

_EXISTS = DEPENDENCE_COLUMNS.index("exists")
_SOURCE, _SINK = DEPENDENCE_COLUMNS.index("source"), DEPENDENCE_COLUMNS.index("sink")
_IS_CURRENT = DEPENDENCE_COLUMNS.index("looked_at")
_IS_MOVED = STATEMENT_COLUMNS.index("moved")
_STORING = STORAGE_QUESTION_COLUMNS.index("is_storage_question")
_LOOP_EXISTS = LOOP_COLUMNS.index("exists")
_IS_CURRENT_NEST = NEST_COLUMNS.index("is_current")

_ROW = len(ROW_COLUMNS)


class SetNetwork(nn.Module):
    """Scores of all actions of an episode, and the value of its state.

    ``coefficients`` is how many there are to choose from, 1 + max_coefficient; with ``decides`` the
    observations are those of Optimize-v0, and there are answers to score. With ``stores`` the first
    answers are about storage, of which the observation has two arrays. With ``transforms`` they are
    those of Transform-v0: all actions are answers, and each loop has a row.
    """

    def __init__(
        self,
        dimensions: int,
        coefficients: int,
        *,
        decides: bool,
        stores: bool = False,
        transforms: bool = False,
        width: int = 64,
    ) -> None:
        super().__init__()
        self.dimensions, self.decides, self.width = dimensions, decides, width
        self.stores, self.transforms = stores, transforms
        of_nest = len(NEST_COLUMNS) if decides else 0
        of_loop = len(LOOP_COLUMNS) if transforms else 0
        of_statement = len(STATEMENT_COLUMNS) + (dimensions + 2) * _ROW + of_nest + of_loop
        self.of_statement = _layers(of_statement, width, width)
        self.of_dependence = _layers(len(DEPENDENCE_COLUMNS) + 2 * width, width, width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.mixed = _layers(2 * width, width, width)
        context = 6 * width + len(PROGRESS_COLUMNS) + len(REMAINING_COLUMNS)
        if decides:
            shapes = mapping_arrays()
            self.of_candidate = _layers(shapes["candidate"].size, width, width)
            self.of_nest = _layers(of_nest, width, width)
            columns = len(STEP_COLUMNS) if transforms else shapes["choices"].shape[1]
            self.of_choice = _layers(width + columns, width, 1)
            context += 2 * width + len(QUESTION_COLUMNS)
        if transforms:
            self.of_loop = _layers(of_loop, width, width)
            context += 2 * width
        if stores:
            self.of_storage = _layers(width + len(STORAGE_CHOICES_COLUMNS), width, 1)
            context += len(STORAGE_QUESTION_COLUMNS)
        self.of_context = _layers(context, 2 * width, width)
        self.construction = nn.Linear(width, CONSTRUCTION_ACTIONS)
        self.coefficients = nn.Linear(width, coefficients)
        self.value = _layers(width, width, 1)

    def forward(self, observation: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return a context for every observation, and the scores of its actions."""
        shown = {name: array.float() for name, array in observation.items()}
        context = self._context(shown)
        if self.transforms:
            return context, self._scored_steps(context, shown)
        scores = [self.construction(context), self.coefficients(context)]
        answers = self._scored(context, shown["choices"], self.of_choice) if self.decides else None
        if self.stores:
            storages = self._scored(context, shown["storage_choices"], self.of_storage)
            storing = shown["storage_question"][:, _STORING, None] > 0
            answers = storages if answers is None else torch.where(storing, storages, answers)
        if answers is not None:
            scores.append(answers)
        return context, torch.cat(scores, -1)

    def _scored(self, context: Tensor, table: Tensor, layers: nn.Module) -> Tensor:
        """Return the scores of answers, of which a table has a row each."""
        rows = table.reshape(len(context), ANSWERS, -1)
        beside = context[:, None, :].expand(-1, ANSWERS, -1)
        tensor: Tensor = layers(torch.cat([beside, rows], -1)).squeeze(-1)
        return tensor

    def _scored_steps(self, context: Tensor, shown: Mapping[str, Tensor]) -> Tensor:
        """Return the scores of the steps that are allowed, 0 for the others."""
        allowed = shown["action_mask"]
        rows = shown["choices"].reshape(*allowed.shape, -1)
        beside = context[:, None, :].expand(-1, allowed.shape[1], -1)
        return _of_rows(self.of_choice, torch.cat([beside, rows], -1), allowed).squeeze(-1)

    def _context(self, shown: Mapping[str, Tensor]) -> Tensor:
        statements, exists, moved = self._statements(shown)
        dependences, is_there, looked_at = self._dependences(shown, statements)
        statements = self._mixed(shown, statements, exists, dependences, is_there)
        parts = [
            *_pooled(statements, exists),
            *_pooled(dependences, is_there),
            _weighted_mean(statements, moved * exists),
            (dependences * looked_at[..., None]).sum(1),
            shown["progress"],
            torch.log2(1.0 + shown["remaining"]),
        ]
        if self.decides:
            nests = self.of_nest(self._nests(shown))
            at_hand = self._nests(shown)[..., _IS_CURRENT_NEST]
            parts += [
                (nests * at_hand[..., None]).sum(1),
                self.of_candidate(shown["candidate"]),
                shown["question"],
            ]
        if self.transforms:
            loops = self._loops(shown)
            there = loops[..., _LOOP_EXISTS]
            parts += _pooled(_of_rows(self.of_loop, loops, there), there)
        if self.stores:
            parts.append(shown["storage_question"])
        tensor: Tensor = self.of_context(torch.cat(parts, -1))
        return tensor

    def _statements(self, shown: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return a token for every statement, whether it exists, and whether it is moved."""
        table = shown["statements"].reshape(-1, MOST_STATEMENTS, len(STATEMENT_COLUMNS))
        used = max(1, int(table[..., _EXISTS].sum(1).max()))
        table = table[:, :used]
        rows = shown["rows"].reshape(-1, self.dimensions, MOST_STATEMENTS, _ROW)[:, :, :used]
        parts = [table, rows.transpose(1, 2).flatten(2)]
        for name in ("generator", "point"):
            parts.append(shown[name].reshape(-1, MOST_STATEMENTS, _ROW)[:, :used])
        if self.decides:
            parts.append(_rows_of(self._nests(shown), shown["nest_of"][:, :used]))
        if self.transforms:
            parts.append(_rows_of(self._loops(shown), shown["loop_of"][:, :used]))
        exists = table[..., _EXISTS]
        tokens = _of_rows(self.of_statement, torch.cat(parts, -1), exists)
        return tokens, exists, table[..., _IS_MOVED]

    def _loops(self, shown: Mapping[str, Tensor]) -> Tensor:
        return shown["loops"].reshape(len(shown["loops"]), -1, len(LOOP_COLUMNS))

    def _nests(self, shown: Mapping[str, Tensor]) -> Tensor:
        return shown["nests"].reshape(len(shown["nests"]), -1, len(NEST_COLUMNS))

    def _dependences(
        self, shown: Mapping[str, Tensor], statements: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return a token for every dependence, whether it exists, and whether it is looked at."""
        table = shown["dependences"].reshape(-1, MOST_DEPENDENCES, len(DEPENDENCE_COLUMNS))
        used = max(1, int(table[..., _EXISTS].sum(1).max()))
        table = table[:, :used]
        ends = []
        for column in (_SOURCE, _SINK):
            places = table[..., column].long().clamp(0, statements.shape[1] - 1)
            ends.append(statements.gather(1, places[..., None].expand(-1, -1, self.width)))
        # Which rows the two statements are in says nothing.
        own = table.clone()
        own[..., _SOURCE] = own[..., _SINK] = 0.0
        exists = table[..., _EXISTS]
        tokens = _of_rows(self.of_dependence, torch.cat([own, *ends], -1), exists)
        return tokens, exists, table[..., _IS_CURRENT]

    def _mixed(
        self,
        shown: Mapping[str, Tensor],
        statements: Tensor,
        exists: Tensor,
        dependences: Tensor,
        is_there: Tensor,
    ) -> Tensor:
        """Let every statement look at the dependences that begin or end there."""
        table = shown["dependences"].reshape(-1, MOST_DEPENDENCES, len(DEPENDENCE_COLUMNS))
        table = table[:, : dependences.shape[1]]
        places = torch.arange(statements.shape[1], device=statements.device)[None, :, None]
        touches = (table[..., _SOURCE][:, None] == places) | (table[..., _SINK][:, None] == places)
        touches = touches & (is_there[:, None] > 0)
        scores = self.query(statements) @ self.key(dependences).transpose(1, 2)
        scores = (scores / self.width**0.5).masked_fill(~touches, -1e9)
        weights = torch.softmax(scores, -1) * touches
        seen = weights @ dependences
        return statements + _of_rows(self.mixed, torch.cat([statements, seen], -1), exists)


def _layers(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs))


def _rows_of(table: Tensor, numbers: Tensor) -> Tensor:
    """Return the rows of a table by their numbers from 1; 0 is a row of zeros."""
    none = torch.zeros_like(table[:, :1])
    places = numbers.long()[..., None].expand(-1, -1, table.shape[2])
    return torch.cat([none, table], 1).gather(1, places)


def _of_rows(layers: nn.Module, table: Tensor, exists: Tensor) -> Tensor:
    """Return the tokens of the rows that exist, zeros for others, on which no time is spent.

    Programs of a batch have one statement or forty; a table is as long as the longest.
    """
    used = exists > 0
    if bool(used.all()):
        all_tokens: Tensor = layers(table)
        return all_tokens
    tokens: Tensor = layers(table[used])
    return tokens.new_zeros(*used.shape, tokens.shape[-1]).index_put((used,), tokens)


def _weighted_mean(tokens: Tensor, weights: Tensor) -> Tensor:
    total = weights.sum(1, keepdim=True).clamp(min=1.0)
    return (tokens * weights[..., None]).sum(1) / total


def _pooled(tokens: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the maximum of the tokens that exist; 0 where none does."""
    highest = tokens.masked_fill(exists[..., None] == 0, -1e9).amax(1)
    return _weighted_mean(tokens, exists), highest * (exists.sum(1, keepdim=True) > 0)
