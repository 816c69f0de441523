"""The prototype of a region's function, as a header for C and C++ has it.

No array of a variable size stands in it: ``double A[n][m]`` is ``double *A``. A row of a constant
size stays, ``double (*A)[4]``. Types that the file defines are defined again; of other types the
headers are included that the file includes.
"""

import re
from collections.abc import Iterator
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.frontend.c.embedding import RegionEmbedding
from polygym.frontend.c.source import syntax

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"][^\n]*$", re.MULTILINE)
_KEPT_QUALIFIERS = ("const", "volatile")


def prototype_lines(embedding: RegionEmbedding, name: str) -> Iterator[str]:
    """Yield the definitions that the prototype needs, and the prototype under a name."""
    function = embedding.function.decl
    typedefs = syntax.typedefs_of(embedding.tree)
    kind = c_ast.FuncDecl(_flat_parameters(function.type, typedefs), function.type.type)
    yield from _definitions(embedding, kind)
    shown = c_ast.Decl(name, [], [], [], [], _renamed(kind, name), None, None)
    yield f"{CGenerator().visit(shown)};"


def _renamed(kind: c_ast.FuncDecl, name: str) -> c_ast.FuncDecl:
    return c_ast.FuncDecl(kind.args, syntax.type_named(kind.type, name))


def _flat_parameters(function: Any, typedefs: dict[str, Any]) -> Any:
    """Return the parameters of a function without arrays of variable sizes."""
    if function.args is None:
        return c_ast.ParamList([_void()])
    params = []
    for param in function.args.params:
        if not isinstance(param, c_ast.Decl) or param.name is None:
            params.append(param)
            continue
        kind = _flat(param.type, typedefs)
        params.append(c_ast.Decl(param.name, param.quals, [], [], [], kind, None, None))
    return c_ast.ParamList(params)


def _void() -> Any:
    kind = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["void"]))
    return c_ast.Typename(None, [], None, kind)


def _flat(kind: Any, typedefs: dict[str, Any]) -> Any:
    """Return the type of a parameter as a header has it."""
    if not isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl):
        return kind
    inner = kind.type
    if _has_variable_size(inner):
        while isinstance(inner, c_ast.ArrayDecl):
            inner = inner.type
    if isinstance(inner, c_ast.PtrDecl):
        inner = _flat(inner, typedefs)
    quals = getattr(kind, "quals", None) or []
    return c_ast.PtrDecl([qual for qual in quals if qual in _KEPT_QUALIFIERS], inner)


def _has_variable_size(kind: Any) -> bool:
    """Whether a type is an array with a size that is no constant."""
    while isinstance(kind, c_ast.ArrayDecl):
        if kind.dim is None or not syntax.is_static_constant(kind.dim):
            return True
        kind = kind.type
    return False


def _definitions(embedding: RegionEmbedding, kind: Any) -> Iterator[str]:
    """Yield what a prototype needs: definitions of the file, or the headers that it includes."""
    typedefs = {node.name: node for node in embedding.tree.ext if isinstance(node, c_ast.Typedef)}
    structures = {
        node.name: node
        for node in syntax.walk(embedding.tree, c_ast.Struct, c_ast.Union, c_ast.Enum)
        if node.name and (getattr(node, "decls", None) or getattr(node, "values", None))
    }
    needed = list(_named_types(kind, typedefs, structures))
    if not needed:
        return
    own = [node for node in needed if _stands_in_text(node, embedding.text)]
    if len(own) < len(needed):
        yield from _INCLUDE.findall(embedding.text)
    for node in own:
        yield f"{CGenerator().visit(node)};"


def _named_types(kind: Any, typedefs: dict[str, Any], structures: dict[str, Any]) -> Iterator[Any]:
    """Yield the definitions that a type needs, those of its parts first, each once."""
    seen: set[str] = set()

    def visit(node: Any) -> Iterator[Any]:
        for part in syntax.walk(node):
            names = list(part.names) if isinstance(part, c_ast.IdentifierType) else []
            if isinstance(part, c_ast.Struct | c_ast.Union | c_ast.Enum) and part.name:
                names.append(f"struct {part.name}")
            for name in names:
                tag = name.removeprefix("struct ")
                found = structures.get(tag) if tag != name else typedefs.get(name)
                if found is None or name in seen:
                    continue
                seen.add(name)
                yield from visit(list(child for _, child in found.children()))
                inside = isinstance(found, c_ast.Typedef) or name.startswith("struct ")
                if inside:
                    yield found

    yield from visit(kind)


def _stands_in_text(node: Any, text: str) -> bool:
    """Whether the file itself has the definition of a type, and no header."""
    if isinstance(node, c_ast.Typedef):
        return re.search(rf"\btypedef\b[^;]*?(\{{[^}}]*\}})?[^;]*\b{node.name}\b", text) is not None
    return re.search(rf"\b(struct|union|enum)\s+{node.name}\s*\{{", text) is not None
