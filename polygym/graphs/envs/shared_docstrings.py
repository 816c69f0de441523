"""The sections that the docstrings of the environments of tensor graphs share."""

from typing import TypeVar

Class = TypeVar("Class", bound=type)

_SHARED = """

    ## Forbidden Actions

    `action_masks()` (bool), `info["action_mask"]` and the array `action_mask` (int8) say which
    actions are allowed. At least one always is. An action outside of the mask costs 0.1 and changes
    nothing, `info["refused"]` says why, and the hundredth ends the episode with -1 and the start's
    graph (`status` "invalid"). After the end all are allowed: a vector of environments that resets
    itself in the next step takes an action for that step, which has no effect.

    ## Starting State

    A graph is chosen with the environment's generator among those that `graph` names;
    `reset(options={"graph": "bert"})` chooses for one episode.

    ## Information

    Every `info` has the same keys: `action_mask`, `graph` (the name), `status` ("running", or how
    the episode ended), `cost` of the graph that would be the result now, `initial_cost`, `gain`,
    which is (initial_cost - cost) / initial_cost, `refused` (why the last action was not taken, ""
    if it was), and `is_success` (bool: the episode has ended with a graph).

    ## Arguments

    | argument | default | meaning |
    |---|---|---|
    | `graph` | "nasrnn" | models of the library, paths, "all"; a Graph or Model |
    | `size` | "small" | of the library's models: "small" or "paper" |
    | `costs` | "static" | "static", "measured", or an object with `cost` |
    | `rules` | "default" | polygym's, the path of a table, or a sequence of rules |
    | `threads` | 1 | threads of measured costs |
    | `seed` | None | the seed of the first reset that has none |
    | `render_mode` | None | "ansi": a text; "svg": the graph; "rgb_array": a page of text |

    Paths are those of a graph as text, of an ONNX file, or of a folder with an optimised model;
    with several graphs, commas between them, each reset draws one. Static costs are a roofline, the
    same everywhere; measured ones are times on this machine, each taken when it is first needed.

    ## Further

    `graph` is the current graph as a value, `text()` its text, `action_meanings` what every action
    would do. `fork()` and `copy.deepcopy` give an independent environment in the same state.
    `export()` gives the episode as JSON, which `polygym.graphs.envs.replay` plays again. `episode`
    is the state as an immutable value.

    ## Version History

    - v0: initial version
    """


def with_shared_sections(environment: Class) -> Class:
    """Append the shared sections to the docstring of an environment."""
    environment.__doc__ = (environment.__doc__ or "").rstrip() + _SHARED
    return environment
