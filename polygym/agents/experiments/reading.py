"""Reading of experiment files, with a check of every entry before a training begins.

:mod:`polygym.agents.experiments.experiment` documents the entries. An error names the file and the
entry.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from polygym.agents.experiments.document_entries import DocumentEntry
from polygym.agents.experiments.environments import make_env, selected_subjects
from polygym.agents.experiments.experiment import (
    ALGORITHMS,
    CORPUS_TEACHER,
    GRAPH,
    KNOSSOS,
    NETWORK_SHARING_ALGORITHMS,
    NETWORKS,
    RESERVED_ARGUMENTS,
    ROLLOUT_ALGORITHMS,
    SATURATE,
    SEARCH_TEACHER,
    EvaluationPlan,
    Experiment,
    is_corpus_file,
)
from polygym.agents.experiments.hyperparameters import check_hyperparameters
from polygym.agents.experiments.models import expect_initial_file
from polygym.agents.experiments.rewrite_terms import (
    REWRITE,
    check_rewrite_experiment,
    programs_of_selection,
)
from polygym.agents.experiments.splits import selected_kernels
from polygym.agents.experiments.yaml_documents import load_yaml
from polygym.agents.policies.env_policy import inner_env
from polygym.errors import InputError
from polygym.mdp.env_ids import ENVIRONMENT_IDS, OPTIMIZE, TRANSFORM
from polygym.mdp.policies.registry import POLICIES
from polygym.mdp.problems.loading import load_problem
from polygym.search.corpus.program_choice import TEST_KERNELS

_ENVIRONMENTS = (*ENVIRONMENT_IDS, REWRITE, SATURATE)

_TEACHERS = (
    f"a rule ({', '.join(POLICIES)}), {SEARCH_TEACHER}, {CORPUS_TEACHER}, or the file of one "
    "(.sqlite, .xz)"
)


def read_experiment(file: Path, overrides: Sequence[str] = ()) -> Experiment:
    """Return the experiment of a file, with entries changed such as ``hyperparameters.gamma=0.9``.

    Raises:
        InputError: the file cannot be read, or an entry is wrong.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: expected an experiment, found: {error}") from None
    try:
        data = load_yaml(text)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    _expect_one_environment(data, str(file))
    for text in overrides:
        _apply_override(data, text)
    experiment = parse_experiment(data, str(file))
    if is_corpus_file(experiment.teacher) and not Path(experiment.teacher).exists():
        raise DocumentEntry(str(file), f"{experiment.environment}.teacher").error(
            "a corpus that is there", experiment.teacher
        )
    for seed in experiment.seeds:
        expect_initial_file(experiment, seed)
    return experiment


def _expect_one_environment(data: object, file: str) -> None:
    if not isinstance(data, Mapping) or len(data) != 1:
        known = ", ".join(_ENVIRONMENTS)
        raise InputError(f"{file}: expected one environment at the top, one of {known}")


def parse_experiment(data: Mapping[str, Any], file: str) -> Experiment:
    """Return the experiment of a document, every entry of it checked.

    Raises:
        InputError: an entry is wrong.
    """
    _expect_one_environment(data, file)
    ((environment, own),) = data.items()
    if environment not in _ENVIRONMENTS:
        known = ", ".join(_ENVIRONMENTS)
        raise InputError(f"{file}: expected one of {known}, found {environment!r}")
    of_terms = environment == REWRITE
    read: Callable[[str], object] = partial(selected_subjects, environment)
    networks: tuple[str, ...] = ("mlp",) if environment == SATURATE else NETWORKS
    if of_terms:
        read, networks = programs_of_selection, (GRAPH,)
    at = DocumentEntry(file, str(environment))
    entries = at.mapping(
        own, [field.name for field in fields(Experiment) if field.name != "environment"]
    )
    for name in ("kernels", "steps"):
        if name not in entries:
            raise InputError(f"{at}: the entry {name} is missing")
    evaluation = at.child("evaluation").mapping(
        entries.get("evaluation", {}), ["kernels", "episodes"]
    )
    experiment = Experiment(
        environment,
        at.child("kernels").selection(entries["kernels"], read),
        at.child("steps").integer(entries["steps"], 1),
        at.child("algorithm").one_of(
            entries.get("algorithm", KNOSSOS if of_terms else "maskable-ppo"), ALGORITHMS
        ),
        at.child("network").one_of(entries.get("network", networks[0]), networks),
        at.child("arguments").mapping(entries.get("arguments", {})),
        at.child("wrappers").wrappers(entries.get("wrappers", [])),
        at.child("hyperparameters").mapping(entries.get("hyperparameters", {})),
        at.child("every").integer(entries.get("every", 1 if of_terms else 4096), 1),
        EvaluationPlan(
            at.child("evaluation.kernels").selection(
                "" if (asked := evaluation.get("kernels")) is None else asked, read, empty=True
            ),
            at.child("evaluation.episodes").integer(evaluation.get("episodes", 1), 1),
        ),
        at.child("seeds").seeds(entries.get("seeds", [0])),
        _teacher(entries.get("teacher", ""), at.child("teacher")),
        at.child("n_envs").integer(entries.get("n_envs", 1), 1),
        at.child("initial").text(entries.get("initial", "")),
    )
    if experiment.n_envs > 1 and experiment.algorithm not in ROLLOUT_ALGORITHMS:
        raise at.child("n_envs").error(f"1 for {experiment.algorithm}", experiment.n_envs)
    if experiment.initial and experiment.algorithm not in NETWORK_SHARING_ALGORITHMS:
        sharing = ", ".join(NETWORK_SHARING_ALGORITHMS)
        raise at.child("initial").error(f"none but for {sharing}", experiment.initial)
    if of_terms:
        check_rewrite_experiment(experiment, at)
    else:
        _check_experiment(experiment, at)
    return experiment


def _check_experiment(experiment: Experiment, at: DocumentEntry) -> None:
    """Make what is to be made once, so that nothing is wrong with it later."""
    for name in RESERVED_ARGUMENTS:
        if name in experiment.arguments:
            raise InputError(
                f"{at.child('arguments')}: the entry {name} stands elsewhere or nowhere"
            )
    try:
        _load_programs(experiment, make_env(replace(experiment, wrappers=())))
    except InputError as error:
        raise InputError(f"{at.child('arguments')}: {error}") from None
    except TypeError as error:  # an argument that there is not
        raise InputError(f"{at.child('arguments')}: {argument_error_text(error)}") from None
    try:
        env = make_env(experiment)
    except InputError as error:
        raise InputError(f"{at.child('wrappers')}: {error}") from None
    if experiment.algorithm == KNOSSOS:
        raise InputError(
            f"{at.child('algorithm')}: expected another one than {KNOSSOS}, which "
            f"learns in {REWRITE} alone"
        )
    if experiment.environment == SATURATE and experiment.algorithm not in ROLLOUT_ALGORITHMS:
        allowed = f"{', '.join(ROLLOUT_ALGORITHMS)} for {SATURATE}"
        raise at.child("algorithm").error(allowed, experiment.algorithm)
    if experiment.algorithm == "dqn" and experiment.network == "sets":
        raise InputError(f"{at.child('network')}: expected mlp for dqn, found sets")
    _check_teacher(experiment, at)
    check_hyperparameters(experiment, at.child("hyperparameters"), env)


def _load_programs(experiment: Experiment, env: Any) -> None:
    """Load the programs, if sizes or functions are named that not all of them need have."""
    if not experiment.arguments.get("parameters") and not experiment.arguments.get("function"):
        return
    evaluated = experiment.evaluation.kernels
    for name in (
        *inner_env(env).targets,
        *(selected_kernels(evaluated) if evaluated.strip() else ()),
    ):
        load_problem(inner_env(env).problem_of(name))


def _check_teacher(experiment: Experiment, at: DocumentEntry) -> None:
    """Refuse cloning without a teacher, teachers elsewhere, and what nobody may learn from."""
    if experiment.algorithm != "cloning":
        if experiment.teacher:
            raise InputError(
                f"{at.child('teacher')}: expected none for {experiment.algorithm}, "
                f"only cloning has one, found {experiment.teacher!r}"
            )
        return
    if not experiment.teacher:
        raise InputError(f"{at}: the entry teacher is missing, which cloning needs: {_TEACHERS}")
    if experiment.teacher in (SEARCH_TEACHER, *POLICIES):
        if held := [
            kernel for kernel in selected_kernels(experiment.kernels) if kernel in TEST_KERNELS
        ]:
            raise InputError(
                f"{at.child('kernels')}: expected none of the kernels for tests, which are never "
                f"demonstrations, found {', '.join(held)}"
            )
    if experiment.teacher == SEARCH_TEACHER and experiment.arguments.get("storage"):
        raise InputError(
            f"{at.child('teacher')}: expected arguments without storage for a search, which "
            "begins with a schedule"
        )
    is_step_search = experiment.teacher == SEARCH_TEACHER and experiment.environment == TRANSFORM
    if (
        not is_step_search
        and experiment.teacher not in POLICIES
        and (experiment.environment != OPTIMIZE or experiment.arguments.get("start") is None)
    ):
        raise InputError(
            f"{at.child('teacher')}: expected {OPTIMIZE} with a start, such as start=isl, for a "
            f"search or a corpus, or {TRANSFORM} for a search, found {experiment.environment}"
        )


def _teacher(value: object, at: DocumentEntry) -> str:
    if not isinstance(value, str):
        raise at.error(_TEACHERS, value)
    if is_corpus_file(value) and Path(value).suffix not in (".sqlite", ".xz"):
        raise at.error(_TEACHERS, value)
    return value


def argument_error_text(error: TypeError) -> str:
    """Return what an error says of arguments that there are not, without Python's own words."""
    words = str(error).partition(" was raised from")[0]  # Gymnasium says what else it was given
    return f"unknown: {words.rpartition('argument ')[2]}" if "keyword argument" in words else words


def _apply_override(data: dict[Any, Any], text: str) -> None:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"an override: expected ENTRY=VALUE, found {text!r}")
    *path, last = name.strip().split(".")
    ((_, own),) = data.items()
    try:
        for key in path:
            own = own.setdefault(key, {})
        own[last] = load_yaml(value)
    except (AttributeError, TypeError, InputError):
        raise InputError(f"an override: expected an entry of the file, found {text!r}") from None
