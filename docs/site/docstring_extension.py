"""Extension of griffe, which reads modules for the API pages: docstrings, pairs of constants."""

import ast
from typing import Any

import griffe

from docs.site.docstrings import as_markdown


class MarkdownDocstrings(griffe.Extension):
    """Converts the docstring of every object to Markdown, and knows ``WIDTH, HEIGHT = 960, 640``.

    griffe itself leaves out names that are assigned together.
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Convert the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Convert the docstring of the outermost module, which is no member of another one."""
        self.on_object(obj=pkg)

    def on_module_members(
        self, *, node: ast.AST | griffe.ObjectNode, mod: griffe.Module, **_: Any
    ) -> None:
        """Add the names that are assigned together."""
        for statement in node.body if isinstance(node, ast.Module) else ():
            match statement:
                case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                    for name, value in zip(names, values, strict=False):
                        if isinstance(name, ast.Name) and name.id not in mod.members:
                            text = ast.unparse(value)
                            attribute = griffe.Attribute(name.id, value=text, lineno=name.lineno)
                            attribute.labels.add("module-attribute")
                            mod.set_member(name.id, attribute)
                case _:
                    pass
