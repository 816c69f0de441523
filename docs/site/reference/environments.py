"""Reference page of the environments: arguments, spaces, and the sections of their docstrings."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import gymnasium
from gymnasium import spaces

from docs.site.docstrings import as_markdown
from docs.site.markdown import PageOpening, bounds, code, heading, page, plain, slug, table

PREFIX = "polygym/"

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ARGUMENTS = re.compile(r"^\|\s*argument\s*\|.*\n\|[-|]+\n((?:\|.*\n?)+)", re.MULTILINE)
_MODULE = re.compile(r"\b(?:\w+\.)+(?=\w)")
_SHOWN_ELSEWHERE = frozenset({"Arguments", "More Arguments"})

_OPENING = PageOpening(
    (
        '`gymnasium.make("polygym:ID", argument=value, …)` makes an environment. '
        "The prefix `polygym:` imports polygym, also in worker processes.",
        "Tables list the arguments with their defaults, and the arrays of an observation.",
        "Shapes are those with default arguments. Sections of several environments are at the end.",
    ),
    """\
```python
import gymnasium

env = gymnasium.make("polygym:polygym/Construct-v0", kernel="mvt", dataset="mini")
observation, info = env.reset(seed=1)
print({name: array.shape for name, array in observation.items()})
```
""",
)


@dataclass(frozen=True)
class EnvironmentEntry:
    """A registered environment: its id, and its class."""

    env_id: str
    kind: type[gymnasium.Env[Any, Any]]

    @property
    def anchor(self) -> str:
        """The anchor of its section."""
        return slug(self.env_id)

    @cached_property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self._document.partition("\n")[0]

    @cached_property
    def sections(self) -> Mapping[str, str]:
        """The sections of the docstring by their titles, but for those about arguments."""
        parts = _SECTION.split(self._document)[1:]
        titles, texts = parts[::2], parts[1::2]
        return {
            title: text.strip()
            for title, text in zip(titles, texts, strict=True)
            if title not in _SHOWN_ELSEWHERE
        }

    @cached_property
    def arguments(self) -> Mapping[str, inspect.Parameter]:
        """The arguments of the constructors, those of the class itself first."""
        found: dict[str, inspect.Parameter] = {}
        for kind in self.kind.__mro__:
            constructor = vars(kind).get("__init__")
            if constructor is None or not kind.__module__.startswith("polygym"):
                continue
            for name, parameter in inspect.signature(constructor).parameters.items():
                if name != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                    found.setdefault(name, parameter)
        return found

    @cached_property
    def argument_documents(self) -> Mapping[str, str]:
        """The meanings of arguments, from the tables of the docstring."""
        found: dict[str, str] = {}
        for rows in _ARGUMENTS.findall(self._document):
            for row in re.sub(r"\n(?!\|)", " ", rows).splitlines():
                names, *_, meaning = (cell.strip() for cell in row.strip().strip("|").split("|"))
                found |= dict.fromkeys(re.findall(r"`(\w+)`", names), meaning)
        return found

    @cached_property
    def spaces(self) -> tuple[spaces.Space[Any], Mapping[str, spaces.Space[Any]]]:
        """The action space, and the observation's arrays, with default arguments."""
        environment = self.kind()
        try:
            observed = environment.observation_space
            assert isinstance(observed, spaces.Dict)
            return environment.action_space, dict(observed.spaces)
        finally:
            environment.close()

    @cached_property
    def _document(self) -> str:
        """The docstring; lines of tables that go on in the next line are joined."""
        return re.sub(r"(?m)^(\|[^\n]*[^|\n])\n(?=[^|\n])", r"\1 ", inspect.getdoc(self.kind) or "")


def registered_environments() -> list[EnvironmentEntry]:
    """Return the environments of polygym in Gymnasium's registry, in the order of registration."""
    import_module("polygym")
    result = []
    for env_id, spec in gymnasium.registry.items():
        if env_id.startswith(PREFIX):
            module, _, name = str(spec.entry_point).partition(":")
            result.append(EnvironmentEntry(env_id, getattr(import_module(module), name)))
    return result


def environments_page() -> str:
    """Return the page."""
    entries = registered_environments()
    shared = _shared_sections(entries)
    parts: list[str] = []
    for entry in entries:
        parts += _entry_parts(entry, shared)
    for ids, sections in shared.items():
        names = ", ".join(code(env_id) for env_id in ids)
        parts.append(heading(2, f"Common to {names}", slug("common " + ids[0])))
        for title, text in sections.items():
            parts += [heading(3, title, slug(f"{ids[0]} {title}")), as_markdown(text)]
    return page(
        "Environments",
        _OPENING,
        table(
            ("Environment", "Class", "Purpose"),
            [
                (
                    f"[{code(entry.env_id)}](#{entry.anchor})",
                    code(entry.kind.__qualname__),
                    plain(entry.summary),
                )
                for entry in entries
            ],
        ),
        *parts,
    )


def _entry_parts(
    entry: EnvironmentEntry, shared: Mapping[tuple[str, ...], Mapping[str, str]]
) -> Iterator[str]:
    yield heading(2, code(entry.env_id), entry.anchor)
    yield plain(entry.summary)
    for ids, sections in shared.items():
        if entry.env_id in ids:
            yield f"Also: {', '.join(sections)} — [common sections](#{slug('common ' + ids[0])})."
    yield heading(3, "Arguments", f"{entry.anchor}-arguments")
    rows = [_argument_row(entry, name) for name in entry.arguments]
    yield table(("Argument", "Type", "Default", "Meaning"), rows)
    action, arrays = entry.spaces
    yield heading(3, "Spaces", f"{entry.anchor}-spaces")
    yield f"Actions: {code(str(action))}. Observation:"
    arrays_shown = [_array_row(*item) for item in arrays.items()]
    yield table(("Array", "Type", "Shape", "Bounds"), arrays_shown)
    known = {title for ids, own in shared.items() if entry.env_id in ids for title in own}
    for title, text in entry.sections.items():
        if title not in known:
            yield heading(3, title, slug(f"{entry.anchor} {title}"))
            yield as_markdown(text)


def _argument_row(entry: EnvironmentEntry, name: str) -> tuple[str, ...]:
    parameter = entry.arguments[name]
    kind = parameter.annotation
    shown = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return (
        code(name),
        code(_MODULE.sub("", shown)),
        code(repr(parameter.default)),
        plain(entry.argument_documents.get(name, "")),
    )


def _array_row(name: str, space: spaces.Space[Any]) -> tuple[str, ...]:
    assert isinstance(space, spaces.Box)
    limits = bounds(float(space.low.min()), float(space.high.max()))
    return code(name), code(str(space.dtype)), code(str(space.shape)), limits


def _shared_sections(
    entries: list[EnvironmentEntry],
) -> Mapping[tuple[str, ...], Mapping[str, str]]:
    """Return sections that several environments have word for word, by the ids of these."""
    owners: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        for section in entry.sections.items():
            owners.setdefault(section, []).append(entry.env_id)
    shared: dict[tuple[str, ...], dict[str, str]] = {}
    for (title, text), ids in owners.items():
        if len(ids) > 1:
            shared.setdefault(tuple(ids), {})[title] = text
    return shared
