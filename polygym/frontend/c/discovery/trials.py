"""Trials: one range of a function's statements read as a region, within a bound on the work.

A range is a region if all passes of the front end take it. If it is refused, the place of the
refusal says which of its statements is to blame, and that directs the search.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.errors import InputError, SourceError, SourceLocation
from polygym.frontend.c.discovery.function_trees import FunctionTree
from polygym.frontend.c.regions.lost_values import declarations_used_after, lost_values
from polygym.frontend.c.regions.passes import RegionState
from polygym.frontend.c.sema.symbols import resolve_names
from polygym.frontend.c.source.function_bodies import TokenStatement
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import choose_region, find_regions
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.frontend.c.tokens.origins import TokenOrigin
from polygym.ir.scop import Scop

# Functions of the C library and of POSIX that change more than their result.
_EFFECTS = frozenset(
    "printf fprintf sprintf snprintf vprintf vfprintf vsnprintf puts fputs putchar fputc putc "
    "scanf fscanf sscanf gets fgets getchar fgetc getc fopen fclose fread fwrite fflush fseek "
    "ftell rewind feof perror malloc calloc realloc free posix_memalign aligned_alloc exit abort "
    "atexit rand srand random srandom drand48 time clock gettimeofday clock_gettime qsort bsearch "
    "strlen strcmp strncmp strcpy strncpy strcat strncat strstr strchr strrchr strtok strdup "
    "strtol strtoul strtod atoi atol atof getenv system open close read write usleep sleep "
    "omp_get_wtime omp_get_thread_num omp_set_num_threads pthread_create pthread_join "
    "pthread_mutex_lock pthread_mutex_unlock asm_statement".split()
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A range that is a region."""

    scop: Scop
    counters_used_after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A range that is none: where, why, and which of its statements is to blame, if one is."""

    place: SourceLocation
    message: str
    hint: str
    culprit: int | None


class Trials:
    """The trials of one function, each done once, at most so many."""

    def __init__(
        self, source: SourceMap, file: str, tree: FunctionTree, given: RegionSelection, most: int
    ) -> None:
        """Start without any."""
        self._source, self._file, self._tree, self._left = source, file, tree, most
        self._given = RegionSelection(
            array_sizes=given.array_sizes,
            parameter_values=given.parameter_values,
            aliases=given.aliases,
        )
        self._done: dict[tuple[int, int], Accepted | Refused] = {}

    @property
    def is_exhausted(self) -> bool:
        """Whether no more are done."""
        return self._left <= 0

    def run(self, statements: Sequence[TokenStatement], *, in_braces: bool) -> Accepted | Refused:
        """Return the outcome of a range of statements in one block, or one without braces."""
        first, last = statements[0].first, statements[-1].last
        if (first, last) not in self._done:
            self._left -= 1
            self._done[first, last] = self._outcome(statements)
        return self._done[first, last]

    def place(self, token: int) -> SourceLocation:
        """Return where a token stands."""
        return self._source.location_of_origin(self._source.tokens[token].origin)

    def is_call(self, first: int, last: int) -> bool:
        """Whether a statement is a call, and nothing else."""
        texts = [token.text for token in self._source.tokens[first : last + 1]]
        return len(texts) > 2 and texts[0].isidentifier() and texts[1] == "(" and texts[-2] == ")"

    def end_place(self, token: int) -> SourceLocation:
        """Return where a token ends."""
        begin = self.place(token)
        column = begin.column + len(self._source.tokens[token].text) - 1
        return SourceLocation(begin.file, begin.line, column, begin.text)

    def _outcome(self, statements: Sequence[TokenStatement]) -> Accepted | Refused:
        first, last = statements[0].first, statements[-1].last
        if refused := self._refused_ends(first, last) or self._refused_call(statements):
            return refused
        sizes = dict(self._given.array_sizes)
        state = RegionState(
            self._source,
            self._file,
            self._given,
            sizes,
            make_tree=lambda: self._tree.tree(first, last),
        )
        try:
            scop = state.first_scop()
            return self._checked(statements, scop)
        except SourceError as error:
            culprit = self._culprit(statements, error.location)
            return Refused(error.location, error.message, error.hint, culprit)
        except InputError as error:
            return Refused(self.place(first), str(error).split("\n")[0], "", None)
        except RecursionError:
            return Refused(self.place(first), "the program nests too deeply", "", None)

    def _checked(self, statements: Sequence[TokenStatement], scop: Scop) -> Accepted | Refused:
        """Refuse a range with a declaration that the code behind it needs."""
        tree = self._tree.tree(statements[0].first, statements[-1].last)
        region = choose_region(find_regions(tree, self._source), self._tree.name, self._file)
        names = resolve_names(tree, region)
        for symbol in declarations_used_after(names):
            place = self._source.location(symbol.declaration)
            message = f"{symbol.name} is declared in the region and used behind it"
            return Refused(place, message, "", self._culprit(statements, place))
        stored = {array.name for array in scop.arrays if array.is_observable}
        lost = lost_values(names, region, stored)
        return Accepted(scop, tuple(symbol.name for symbol in lost))

    def _refused_ends(self, first: int, last: int) -> Refused | None:
        """Refuse a range that begins or ends inside of a macro, or in another file."""
        tokens = self._source.tokens
        before = tokens[first - 1].origin if first else None
        begin, end = tokens[first].origin, tokens[last].origin
        if begin.file != self._file or end.file != self._file:
            return Refused(self.place(first), "the region is in an included file", "", None)
        if end.in_macro or (begin.in_macro and _is_same_place(begin, before)):
            return Refused(self.place(first), "the region begins or ends inside a macro", "", None)
        return None

    def _refused_call(self, statements: Sequence[TokenStatement]) -> Refused | None:
        """Refuse a range that calls a function of the C library that does input, output or so.

        The passes would refuse it, too, after most of their work.
        """
        for number, statement in enumerate(statements):
            for index in range(statement.first, statement.last):
                name = self._source.tokens[index].text
                is_called = self._source.tokens[index + 1].text == "("
                if is_called and name in _EFFECTS and name not in self._tree.functions:
                    place = self.place(index)
                    return Refused(place, f"{name} has no body here", "", number)
        return None

    def _culprit(self, statements: Sequence[TokenStatement], place: SourceLocation) -> int | None:
        """Return the number of the statement in which a place is."""
        wanted = (place.file, place.line, place.column)
        for number, statement in enumerate(statements):
            for token in self._source.tokens[statement.first : statement.last + 1]:
                origin = token.origin
                if (origin.file, origin.line, origin.column) == wanted:
                    return number
        return None


def _is_same_place(origin: TokenOrigin, other: TokenOrigin | None) -> bool:
    return other is not None and (origin.file, origin.line, origin.column) == (
        other.file,
        other.line,
        other.column,
    )
