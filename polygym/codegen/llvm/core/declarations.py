"""Functions that are defined elsewhere, each declared once in a module."""

from __future__ import annotations

from llvmlite import ir


def declare_function(
    module: ir.Module, name: str, kind: ir.FunctionType, *attributes: str
) -> ir.Function:
    """Return a function of this name and type, declared with its attributes where it is not yet."""
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, kind, name)
        for attribute in attributes:
            function.attributes.add(attribute)
    return function
