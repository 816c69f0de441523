"""``polygym/Optimize-v0``: a schedule and its mapping are decided in one episode."""

from dataclasses import replace
from typing import Any, ClassVar

from polygym.envs.documentation import with_knobs, with_shared_sections, with_storage_section
from polygym.envs.episode_end import Info
from polygym.envs.storage_base import StorageEnv
from polygym.mdp.env_ids import OPTIMIZE
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Array, Observation
from polygym.mdp.observation.mapping_arrays import mapping_arrays
from polygym.mdp.observation.schedule_observer import ObservationBuffer
from polygym.mdp.problems import arguments
from polygym.mdp.records.record_checks import ADOPT_KEY
from polygym.mdp.task_options import MappingDecisions, Phase


@with_shared_sections
@with_storage_section
@with_knobs
class OptimizeEnv(StorageEnv):
    """Decide everything that decides speed: the order of a loop program, and what is made of it.

    ## Description

    An episode has up to three phases. A schedule is built from nothing as in Schedule-v0, or, with
    `start="isl"`, isl's schedule is edited: rows are skewed, interchanged, moved, reversed, put in
    to part statements or left out to fuse them, shifted and changed number by number, or another of
    the program's schedules is adopted: the order of the text, or isl's if it is told otherwise. Then its
    mapping is decided question by question: threads, tiles, vectors, copies, for each nest of loops.
    What results is compiled, run and timed, and its speedup is the reward. Every schedule on the
    way is legal, and results stay the same bit for bit.

    "Use default" is an answer to every question: an agent that always gives it, or gives it once for
    all that is left, ends with the mapping that the argument `mapping` has, which is polygym's
    default.

    ## Action Space

    `Discrete(4 + max_coefficient + 15)`, 21 actions with the default:

    | number | action | phase |
    |---|---|---|
    | 0 … 2 | next_dim, next_dep, select_dep, as in Construct-v0 | construct |
    | 3 + X | select_coeffX, as in Explore-v0 | explore |
    | 4 + N | use default; in an edit: drop it, and before one: edit no more | edit, map |
    | 5 + N | end: keep everything else, or use default for all that is left | edit, map |
    | 6 + N + k | choice k, whose meaning row 2 + k of the table `choices` has | edit, map |

    (N is `max_coefficient`.) The questions of the mapping, in their order, and what may be chosen:

    QUESTION_TABLE

    Nests are groups of statements with loops in common; the eight with most iterations are asked
    about. An edit is chosen in steps: its kind, then rows, statements and amounts; only with the
    last step does it happen, and then the mask has what is legal. A step with more to choose from
    than there are actions asks first from which part. There are 64 steps of edits at most.

    ## More Observations

    Beside the arrays below there are these, float32 unless said otherwise; sizes, lengths and
    numbers of things are log2(1 + x), columns `about_…`, `operand_…` and `edit_…` are 0 or 1:

    `question` (QUESTION_COUNT,):

    | column | meaning |
    |---|---|
    QUESTION_ROWS

    `choices` (15 by CHOICE_COUNT), a row for every answer:

    | column | meaning |
    |---|---|
    CHOICE_ROWS

    `nests` (8 by NEST_COUNT), in the order in which they run; of the mapping so far 0 is a default,
    and `order_1` … `order_6` are the places of loops in the order, from the innermost on:

    | column | meaning |
    |---|---|
    NEST_ROWS

    `nest_of`, int8 (48,): the nest of each statement, from 1; 0 for none of them.

    `candidate`: the features of the whole candidate, with the default for what is not decided, as
    `polygym.cost` has them (`polygym.cost.features.candidates.candidate_vector.FEATURE_NAMES` names the columns); 0 before there is a
    schedule, and with `features=False`.

    ## More Arguments

    | argument | default | meaning |
    |---|---|---|
    | `start` | None | the schedule that is edited: "isl", "isl fusion=maximum", "original", "auto"; None: built from nothing |
    | `adopt` | True | whether an edit may adopt another of the program's schedules, isl's among them |
    | `features` | True | whether `candidate` is filled in; a new schedule takes tens of milliseconds then |

    `mapping` is the one that decisions begin with. The last `info` also holds `mapping` (str).
    """

    ID: ClassVar[str] = OPTIMIZE
    PHASES: ClassVar[frozenset[Phase]] = frozenset(
        {Phase.STORE, Phase.CONSTRUCT, Phase.EXPLORE, Phase.EDIT, Phase.MAP}
    )
    FIRST_ACTION: ClassVar[int] = 0
    LAST_ACTION: ClassVar[int | None] = None

    def __init__(
        self,
        kernel: str = "gemm",
        *,
        start: str | None = None,
        adopt: bool = True,
        features: bool = True,
        **others: Any,
    ) -> None:
        super().__init__(kernel, **others)
        begins = arguments.check_start(start)
        self._shows_features = arguments.check_switch("features", features)
        adopts = arguments.check_switch("adopt", adopt)
        decides = MappingDecisions(self._measuring.mapping, begins, adopts)
        self._options = replace(self._options, mapping_decisions=decides)
        if not adopts:
            self._arguments[ADOPT_KEY] = False
        self._arguments["start"] = None if begins is None else str(begins)
        self._set_spaces(mapping_arrays())

    def _observe(self, episode: Episode, allowed: Array) -> Observation:
        observer = self.problem.decision_observer_of(episode)
        observation = observer.observe_all(episode, allowed, features=self._shows_features)
        return self._with_storage_arrays(observation, episode)

    def write_observation(self, shown: ObservationBuffer) -> None:
        """Write the observation into arrays."""
        for name, array in self._observe(self.episode, self.action_masks()).items():
            shown.arrays[name][:] = array

    def _end_episode(self, info: Info) -> float:
        value = super()._end_episode(info)
        info["mapping"] = str(self.episode.mapping)
        return value
