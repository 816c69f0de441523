"""Functions that are defined elsewhere, each declared once in a module."""

from __future__ import annotations

from llvmlite import ir


def declared(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    """Return a function of this name and type, declared where it is not yet."""
    found = module.globals.get(name)
    return ir.Function(module, kind, name) if found is None else found
