"""The sections that the docstrings of the environments share."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from polygym.mapping.knobs import KNOB_NAMED, QUESTIONS, KnobQuestion, LoopDirection
from polygym.mdp.observation.arrays import OBSERVATION_VERSION, Column, column_lines
from polygym.mdp.observation.episode_arrays import PROGRESS, REMAINING
from polygym.mdp.observation.static_observation import DEPENDENCES, STATEMENTS
from polygym.mdp.observation.storage_arrays import STORAGE_CHOICES, STORAGE_QUESTION

Class = TypeVar("Class", bound=type)

_STORAGE_SECTION = """

    ## Storage

    With `storage=True` an episode begins index-set splitting and the storage of values,
    question by question. Then there are 15 answers behind the coefficients in any case, here with the
    meanings: 4 + N source; 5 + N source for all remaining; 6 + N + k choice k, whose meaning row 2 + k of
    the table `storage_choices` has. First it is asked where to split, among what the dependences suggest, twice at
    most; then what becomes of each web of values that blocks a loop by memory. The mask
    leaves out what takes more than `storage_limit` bytes, and what cannot be proved to be right. The
    rest of the episode is about the program that results, and every observation is of the program as
    it is by then. If isl takes too long for it, the episode ends as invalid.

    | argument | default | meaning |
    |---|---|---|
    | `storage` | False | whether storage is decided |
    | `storage_limit` | 536870912 | how many bytes all new arrays may take |

    Two arrays come with it, float32; bytes and numbers of things are log2(1 + x):

    `storage_question` (STORAGE_QUESTION_COUNT,):

    | column | meaning |
    |---|---|
    STORAGE_QUESTION_ROWS

    `storage_choices` (15 by STORAGE_CHOICE_COUNT), a row for every answer:

    | column | meaning |
    |---|---|
    STORAGE_CHOICE_ROWS

    The last `info` also holds `splitting` and `storage` (str)."""

_SHARED_SECTIONS = """

    ## Observation Space

    A `Dict` of boxes whose shapes depend on `max_dimensions` and `max_coefficient` alone, never on
    the program. This is version OBSERVATION_VERSION of the observation (`metadata["observation_version"]`). Tables are
    in row-major order, flattened: a table of r rows and c columns is a box of shape (r·c,),
    `reshape(r, c)` makes it a table again. Counts are `int8`, cut off at ±127. Coefficients of rows
    are signed logarithms, sign(x) · log2(1 + |x|) as float32 in [-32, 32]: 0, 1 and -1 are
    themselves, 3 is 2, 7 is 3, and `polygym.mdp.observation.arrays.decode_numbers` gives the integers back. Rows
    of a table that a program does not use are 0; a program with more statements, dependences, loops
    or parameters than there is room for shows its first ones. Statements are in the order of the
    text; iterators (levels 1 to 6) from the outermost loop inwards; parameters (1 to 6) in the
    order of the program.

    `progress`, float32 (PROGRESS_COUNT,), each in [0, 1]:

    | column | meaning |
    |---|---|
    PROGRESS_ROWS

    `remaining`, int32 (REMAINING_COUNT,):

    | column | meaning |
    |---|---|
    REMAINING_ROWS

    `dependences`, int8, 256 by DEPENDENCE_COUNT, one row for each dependence in the order of i_dep:

    | column | meaning |
    |---|---|
    DEPENDENCE_ROWS

    `statements`, int8, 48 by STATEMENT_COUNT, one row for each statement:

    | column | meaning |
    |---|---|
    STATEMENT_ROWS

    `rows`, float32, max_dimensions by 48 by 13: the finished dimensions' coefficients, for every
    statement `iterator_1` … `iterator_6`, `parameter_1` … `parameter_6`, `constant`.

    `generator`, float32, 48 by 13: the vertex or ray whose coefficient is chosen next, in the same
    columns: which iterators, parameters and constants it moves, and in which direction.

    `point`, float32, 48 by 13: the sum of this dimension's generators so far, each times its
    coefficient (vertices before they are normalised).

    `action_mask`, int8 (number of actions,): 1 for the actions that are allowed.

    ## Masks

    `action_masks()` (bool) and `info["action_mask"]` (int8) say which actions are allowed. At least
    one always is, and an episode that follows them ends with a schedule. After the end all are
    allowed: a vector of environments that resets itself in the next step (`gymnasium.make_vec`)
    takes an action for that step, which has no effect.

    An action outside of the mask costs 0.1. If it leads to an invalid state, the episode ends:
    selecting a dependence that no row can carry (the polyhedron is empty), or 0 for all of several
    vertices. Otherwise nothing changes (next_dep beyond its number still moves), and the hundredth
    such action ends the episode.

    ## Rewards

    0 before the end. At the end, by the argument `reward`:

    | `reward` | a schedule that ran | one that failed | an invalid state |
    |---|---|---|---|
    | `speedup` | time of the original order / its time | 0 | -1 |
    | `log_speedup` | the natural logarithm of that, at least -ln(timeout_factor) | -ln(timeout_factor) | -ln(timeout_factor) - 1 |
    | `static` | `polygym.poly.scheduling.properties.static_score`, in (0, 1] | 0 | -1 |
    | `model` | the speedup that the model of cost predicts, at most 1000 (needs `pip install 'polygym[cost]'`) | 0 | -1 |
    | `log_model` | the natural logarithm of that, as for `log_speedup` | -ln(timeout_factor) | -ln(timeout_factor) - 1 |

    A faster schedule never pays less than a slower one, no failure more than a schedule that ran,
    and an invalid state always less than both. The original order is compiled by the same LLVM at
    -O3 and measured in the same process. Failed is what is cut off as slower than `timeout_factor`
    times the original (no run is before some milliseconds), crashes, does not compile, runs out of
    memory or range, or computes something else. `static`, `model` and `log_model` run nothing; only
    a schedule whose numbers are too large, or of which isl makes no loops, fails there.

    ## Determinism

    A seed fixes every observation, mask and schedule. Rewards are times unless `reward` is
    "static", "model" or "log_model", so the environments are registered as `nondeterministic`; with
    these all is a function of the seed and the actions (of a model, on one kind of machine).

    ## Starting State

    A kernel is chosen with the environment's generator among those that `kernel` selects;
    `reset(options={"kernel": "lu"})` chooses for one episode. `info` holds `action_mask`,
    `kernel` and `space_complete` (bool: no vertex or ray of the dimensions so far was left out by
    `max_rays`, `max_vertices` or polygym's own limits).

    ## Episode End

    Terminated with a schedule or in an invalid state; never truncated. The last `info` also holds
    `status` ("ok", "wrong output", "timeout", "crash", "does not compile", "out of memory", "out of
    range", "invalid", "not measured"), `speedup`, `seconds`, `baseline_seconds` (float, 0 if not measured),
    `samples` (a tuple of float), `schedule` (isl text, "" if there is none), `error_type`,
    `error_details` (str) and `is_success` (bool: a schedule, which ran correctly if it was run).

    ## Arguments

    | argument | default | meaning |
    |---|---|---|
    | `kernel` | "gemm" | kernels, categories, globs ("blas", "*mm", "all"), paths of C files; several with commas, behind ! what is excluded |
    | `dataset` | "medium" | sizes: mini, small, medium, large, extralarge |
    | `parameters` | None | single sizes over the data set's: {"n": 100} or "n=100,m=200" |
    | `function` | None | the function, in a C file with several regions |
    | `max_coefficient` | 2 | N: the coefficients are 0 … N |
    | `max_dimensions` | 4 | dimensions of a space at most; a program that needs more gets them |
    | `max_rays`, `max_vertices` | 64, 8 | generators of a dimension at most; a sample stands for more |
    | `reward` | "speedup" | "speedup", "log_speedup", "static", "model" or "log_model" |
    | `threads` | 1 | threads that the compiled code may use |
    | `mapping` | "default" | the mapping of the loops to the machine (docs/explanation/mapping.md) |
    | `timeout_factor` | 10 | a run is cut off after so many times the original's time |
    | `remeasure` | "never" | "never": the first time of a schedule stays as long as the process; "best": a new best is measured twice more, and the median stays; "always" |
    | `policy` | "earliest" | what acts where the agent does not: uniform, bias_coeff_0, bias_select_dep, earliest, greedy, learned; `suggested_action()` asks it for the agent's action |
    | `seed` | None | the seed of the first reset that has none |
    | `render_mode` | None | "ansi": a text; "rgb_array": a picture |

    ## Further

    `fork()` and `copy.deepcopy` give an independent environment in the same state. `export()` gives
    the episode as JSON, which `polygym replay` plays and measures again. `episode` is the state as
    an immutable value.

    ## Version History

    - v0: initial version
    - v0, observation 2: `rows`, `generator` and `point` are signed logarithms (float32); in
      observation 1 they were int8 and cut off at ±127. Models that were trained on it are refused.
    - v0, observation 3: `progress` has `dimensions_complete`. Models of observation 2 are refused.
    """


def with_knobs(environment: Class) -> Class:
    """Fill in what the docstring of an environment leaves to the table of mapping knobs."""
    # Not above: these load LLVM, and environments that decide no mapping begin without.
    from polygym.mdp.observation.mapping_arrays import CHOICES, NESTS, QUESTION

    rows = [
        f"    | {name} | {subject} | {kind.answers} |"
        for kind in QUESTIONS.values()
        for name, subject in [_question_head(kind)]
    ]
    table = "\n".join(["| question | of | choices |", "    |---|---|---|", *rows])
    environment = _with_texts(environment, {"QUESTION_TABLE": table})
    return _with_tables(environment, {"QUESTION": QUESTION, "CHOICE": CHOICES, "NEST": NESTS})


def with_steps(environment: Class) -> Class:
    """Fill in what the docstring of an environment leaves to the kinds of steps."""
    from polygym.mdp.observation.transform_arrays import CHOICES, LOOPS
    from polygym.transformations.candidates import OFFERED_STEPS

    rows = [f"    | `{kind.syntax}` | {_first_sentence(kind)} |" for kind in OFFERED_STEPS]
    table = "\n".join(["| step | meaning |", "    |---|---|", *rows])
    environment = _with_texts(environment, {"STEP_TABLE": table})
    return _with_tables(environment, {"STEP_CHOICE": CHOICES, "TREE_LOOP": LOOPS})


def _first_sentence(kind: type) -> str:
    """Return the first line of a docstring, without its full stop."""
    return (kind.__doc__ or "").splitlines()[0].rstrip(".").replace("``", "`")


def _with_tables(environment: Class, tables: Mapping[str, Sequence[Column]]) -> Class:
    """Fill in the columns of tables, and how many there are."""
    counts = {f"{name}_COUNT": str(len(columns)) for name, columns in tables.items()}
    rows = {f"    {name}_ROWS": column_lines(columns) for name, columns in tables.items()}
    return _with_texts(environment, {**counts, **rows})


def _with_texts(environment: Class, texts: Mapping[str, str]) -> Class:
    for name, text in texts.items():
        environment.__doc__ = (environment.__doc__ or "").replace(name, text)
    return environment


def _question_head(kind: KnobQuestion) -> tuple[str, str]:
    """Return a question's name, and what it is asked about."""
    subject = "each nest" if KNOB_NAMED[kind.knobs[0]].is_per_nest else "the program"
    match kind.direction:
        case LoopDirection.INWARD:
            subject = "each loop of a nest, until the default is chosen"
        case LoopDirection.OUTWARD:
            subject += (
                ", from the inside, as long as there is a choice, until the default is chosen"
            )
        case None:
            pass
    return f"{kind.name} ({kind.condition})" if kind.condition else kind.name, subject


def with_storage_section(environment: Class) -> Class:
    """Append the section about storage to the docstring of an environment; it comes first."""
    environment.__doc__ = (environment.__doc__ or "").rstrip() + _STORAGE_SECTION
    return _with_tables(
        environment, {"STORAGE_QUESTION": STORAGE_QUESTION, "STORAGE_CHOICE": STORAGE_CHOICES}
    )


def with_shared_sections(environment: Class) -> Class:
    """Append the shared sections to the docstring of an environment."""
    environment.__doc__ = (environment.__doc__ or "").rstrip() + _SHARED_SECTIONS.replace(
        "OBSERVATION_VERSION", str(OBSERVATION_VERSION)
    )
    tables = {
        "PROGRESS": PROGRESS,
        "REMAINING": REMAINING,
        "DEPENDENCE": DEPENDENCES,
        "STATEMENT": STATEMENTS,
    }
    return _with_tables(environment, tables)
