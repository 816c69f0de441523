"""References in docstrings name what exists: modules, classes, their members, constants."""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PACKAGES = ("polygym", "agents", "benchmarks", "polybench")
_ROLE = re.compile(r":(?:mod|class|func|meth|data|attr|exc):`~?(?:[^`<]*<)?([\w.]+)>?`")


@dataclass
class Names:
    """What a module defines: members of its classes (None for what is no class), and imports."""

    own: dict[str, set[str] | None] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)
    bases: dict[str, list[str]] = field(default_factory=dict)


@cache
def modules() -> dict[str, Path]:
    result = {}
    for top in _PACKAGES:
        for path in (ROOT / top).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            result[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return result


def targets_of(node: ast.AST) -> Iterator[str]:
    """Yield the names that an assignment sets, attributes of self too."""
    match node:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from targets_of(target)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from targets_of(target)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from targets_of(element)
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            yield name


def members_of(node: ast.ClassDef) -> set[str]:
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(inner.name)
        names |= set(targets_of(inner))
    return names


@cache
def names_of(module: str) -> Names:
    names = Names()
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=source, names=aliases) if source:
                for alias in aliases:
                    names.imported[alias.asname or alias.name] = f"{source}.{alias.name}"
            case ast.Import(names=aliases):
                for alias in aliases:
                    names.imported[alias.asname or alias.name.partition(".")[0]] = alias.name
    for node in ast.parse(modules()[module].read_text(encoding="utf-8")).body:
        add_definitions(names, node)
    return names


def add_definitions(names: Names, node: ast.stmt) -> None:
    match node:
        case ast.ClassDef(name=name):
            names.own[name] = members_of(node)
            names.bases[name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            names.own[name] = None
        case ast.If() | ast.Try() | ast.With():
            for inner in (*node.body, *getattr(node, "orelse", [])):
                add_definitions(names, inner)
        case _:
            names.own |= dict.fromkeys(targets_of(node))


def has_member(module: str, name: str, member: str) -> bool:
    """Whether a class has a member, by itself or from a base."""
    names = names_of(module)
    if name in names.imported and name not in names.own:
        target = names.imported[name].rpartition(".")
        return target[0] not in modules() or has_member(target[0], target[2], member)
    members = names.own.get(name)
    if members is None:
        return False
    return member in members or any(has_member(module, base, member) for base in names.bases[name])


def resolves(reference: str, module: str) -> bool:
    """Whether a reference in a docstring of a module names something, of polygym's at least."""
    if module.startswith("benchmarks") and resolves(f"benchmarks.{reference}", "polygym"):
        return True  # benchmarks are scripts, and their folder is where modules are looked for
    parts = reference.split(".")
    for count in range(len(parts), 0, -1):
        prefix, rest = ".".join(parts[:count]), parts[count:]
        if prefix in modules():
            return not rest or within(prefix, rest)
    return parts[0] not in _PACKAGES and within(module, parts)


def within(module: str, parts: list[str]) -> bool:
    names = names_of(module)
    first, *rest = parts
    if first in names.own:
        return not rest or (len(rest) == 1 and has_member(module, first, rest[0]))
    if first in names.imported:
        target = names.imported[first]
        is_ours = target.partition(".")[0] in _PACKAGES
        return not is_ours or resolves(".".join([target, *rest]), module)
    if module in modules() and f"{module}.{first}" in modules():
        return True
    if any(isinstance(own, set) and first in own for own in names.own.values()):
        return not rest  # a member, named within its class
    return hasattr(builtins, first) or first in ("concurrent", "os", "logging")


def references() -> Iterator[tuple[str, int, str]]:
    for module, path in sorted(modules().items()):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for reference in _ROLE.findall(line):
                yield module, number, reference


def test_references_of_docstrings_name_what_exists() -> None:
    checked = list(references())
    assert len(checked) > 500
    wrong = [
        f"{modules()[module].relative_to(ROOT)}:{number}: {reference}"
        for module, number, reference in checked
        if not resolves(reference, module)
    ]
    assert wrong == []


def test_a_reference_to_nothing_is_found() -> None:
    assert resolves("polygym.errors.InputError", "polygym.version")
    assert resolves("TypeError", "polygym.durations")
    assert not resolves("polygym.errors.NoSuchError", "polygym.version")
    assert not resolves("polygym.no_such_module", "polygym.version")
    assert not resolves("NoSuchClass.member", "polygym.durations")
