"""Maximal regions: runs of statements that the front end takes, as long as they can be.

In every block of a function, outermost first, each run of statements that has loops and no jump is
tried as a whole. Where it is refused, the place of the refusal names a statement, and the run ends
before it; a loop that is refused alone is left, and the blocks inside are searched::

    x = 0;                        x = 0; for … ; for … ;   refused at printf
    for (i …) x += a[i];     →    x = 0; for (i …)         a region
    printf("%g", x);
    while (*p) for (j …) …        refused; its body is searched: for (j …), another region

So a region is never a part of a longer one that begins with it, and each statement is tried few
times. Declarations and calls at the ends of a region stay outside: they are no loops.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.discovery.found_regions import FileRegions, FoundRegion, RefusedLoop
from polygym.frontend.c.discovery.function_trees import FunctionTree, without_pragmas
from polygym.frontend.c.discovery.trials import Accepted, Refused, Trials
from polygym.frontend.c.source.function_bodies import StatementBlock, StatementKind, TokenStatement
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import cached_result, parse_cached, preprocess_cached
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.frontend.c.source.unreadable import UnreadableFunction, problem_error

# Trials of one function. A function of the suite needs three at most.
_MOST_TRIALS = 60

_ANYTHING = RegionSelection()


def find_in_text(
    text: str, file: str, given: RegionSelection = _ANYTHING, function: str | None = None
) -> FileRegions:
    """Return the regions of a text, whether it has pragmas or not, or of one of its functions.

    ``given`` has the flags that the text is read with, and sizes of arrays.

    Raises:
        SourceError: The text is no C, or needs what is not there.
        LimitError: It is too long.
    """
    source = preprocess_cached(text, file, given.flags)
    key = (find_in_text, str(given), function)
    try:
        return cached_result(source, key, lambda: _find(source, file, given, function))
    except RecursionError as error:
        raise SourceError(source.location_at(1, 1), "the program nests too deeply") from error


def functions_of_text(
    text: str, file: str, given: RegionSelection = _ANYTHING
) -> tuple[tuple[str, int, int], ...]:
    """Return the functions that a text defines, with their first and last lines in the file."""
    source = preprocess_cached(text, file, given.flags)
    result = []
    for node in own_functions(without_pragmas(parse_cached(source)), source, file):
        body = node.body.coord
        block = FunctionSpan(source, source.token_index(body.line, body.column))
        result.append((node.decl.name, source.location(node.decl).line, block.last_line))
    return tuple(result)


class FunctionSpan:
    """The extent of a function's body."""

    def __init__(self, source: SourceMap, opening: int) -> None:
        """Find its end.

        Raises:
            SourceError: The text ends before.
        """
        depth = 0
        for token in source.tokens[opening:]:
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if depth == 0:
                self.last_line: int = token.origin.line
                return
        place = source.location_of_origin(source.tokens[opening].origin)
        raise SourceError(place, "expected a } for this {, found the end of the file")


def own_functions(tree: Any, source: SourceMap, file: str) -> Iterator[Any]:
    """Yield the functions whose bodies stand in the file itself."""
    for node in tree.ext:
        is_function = isinstance(node, c_ast.FuncDef) and isinstance(node.decl.type, c_ast.FuncDecl)
        if is_function and source.location(node.body).file == file:
            yield node


def _find(
    source: SourceMap, file: str, given: RegionSelection, function: str | None
) -> FileRegions:
    """Search all functions of a text, or one."""
    tree = without_pragmas(parse_cached(source))
    regions: list[FoundRegion] = []
    refused: list[RefusedLoop] = []
    functions = loops = 0
    for node in own_functions(tree, source, file):
        if function is not None and node.decl.name != function:
            continue
        functions += 1
        if isinstance(node, UnreadableFunction):
            loops += node.has_loops
            refused += [_unread_loop(node, source)] if node.has_loops else []
            continue
        kept = FunctionTree(source, tree, node)
        loops += sum(1 for statement in kept.block.statements for _ in statement.loops())
        if any(statement.has_loops for statement in kept.block.statements):
            search = _FunctionSearch(kept, Trials(source, file, kept, given, _MOST_TRIALS))
            search.block(kept.block)
            regions += search.numbered()
            refused += search.refused
    return FileRegions(tuple(regions), tuple(refused), functions, loops)


def _unread_loop(node: UnreadableFunction, source: SourceMap) -> RefusedLoop:
    """Return the refusal of a function that the parser does not take."""
    error = problem_error(node.problem, source)
    begin = source.location(node.decl)
    return RefusedLoop(node.decl.name, begin, error.location, error.message, error.hint)


class _FunctionSearch:
    """The search of one function."""

    def __init__(self, tree: FunctionTree, trials: Trials) -> None:
        """Start with nothing found."""
        self._tree, self._trials = tree, trials
        self._accepted: list[tuple[Sequence[TokenStatement], bool, Accepted]] = []
        self.refused: list[RefusedLoop] = []

    def numbered(self) -> list[FoundRegion]:
        """Return the regions, numbered in the order of the text."""
        ordered = sorted(self._accepted, key=lambda entry: entry[0][0].first)
        return [
            FoundRegion(
                self._tree.name,
                number,
                len(ordered) == 1,
                self._trials.place(run[0].first),
                self._trials.end_place(run[-1].last),
                not has_braces,
                outcome.scop,
                outcome.counters_used_after,
            )
            for number, (run, has_braces, outcome) in enumerate(ordered, start=1)
        ]

    def block(self, block: StatementBlock) -> None:
        """Search a block, run by run."""
        run: list[TokenStatement] = []
        for statement in block.statements:
            if statement.kind is StatementKind.EXIT:
                self._run(run, block.has_braces)
                run = []
            else:
                run.append(statement)
        self._run(run, block.has_braces)

    def _run(self, run: Sequence[TokenStatement], has_braces: bool) -> None:
        """Search statements one after the other, without jumps between them."""
        start = 0
        while any(statement.has_loops for statement in run[start:]):
            if self._stays_outside(run[start]):
                start += 1
            else:
                start = self._longest(run, start, has_braces)

    def _longest(self, run: Sequence[TokenStatement], start: int, has_braces: bool) -> int:
        """Take the longest region that begins with a statement; return where to go on."""
        end = len(run)
        while True:
            while self._stays_outside(run[end - 1]):
                end -= 1
            candidate = run[start:end]
            outcome = self._trials.run(candidate, in_braces=has_braces)
            if isinstance(outcome, Accepted):
                ends_in_loop = run[end - 1].has_loops
                if outcome.counters_used_after and not ends_in_loop and len(candidate) > 1:
                    end -= 1  # it may be what sets them
                    continue
                if not any(statement.depth for statement in outcome.scop.statements):
                    return end  # no iteration of any loop
                self._accepted.append((candidate, has_braces, outcome))
                return end
            if len(candidate) == 1:
                self._descend(candidate[0], outcome)
                return start + 1
            shorter = self._shorter(candidate, outcome)
            if shorter and not any(s.has_loops for s in run[start : start + shorter]):
                return start + shorter
            end = start + max(shorter, 1)
            if self._trials.is_exhausted:
                end = start + 1

    def _shorter(self, candidate: Sequence[TokenStatement], outcome: Refused) -> int:
        """Return how many statements to try next: those before the one to blame."""
        if outcome.culprit is not None:
            return outcome.culprit
        with_loops = [number for number, s in enumerate(candidate) if s.has_loops]
        last = with_loops[-1]
        return last if last + 1 == len(candidate) else last + 1

    def _descend(self, statement: TokenStatement, outcome: Refused) -> None:
        """Note a statement that is in no region, and search the blocks inside."""
        if not statement.has_loops:
            return
        places = {refused.place for refused in self.refused}
        for loop in statement.loops():
            if outcome.place not in places:
                self.refused.append(
                    RefusedLoop(
                        self._tree.name,
                        self._trials.place(loop.first),
                        outcome.place,
                        outcome.message,
                        outcome.hint,
                    )
                )
            break
        for block in statement.blocks:
            if not self._trials.is_exhausted:
                self.block(block)

    def _stays_outside(self, statement: TokenStatement) -> bool:
        """Whether a statement at an end of a region belongs around it."""
        span = statement.first, statement.last
        is_plain = statement.kind is StatementKind.PLAIN
        return is_plain and (self._tree.is_declaration(*span) or self._trials.is_call(*span))
