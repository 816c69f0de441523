"""ONNX files in and out: :func:`read` and :func:`write`; needs the extra ``graphs``.

:func:`prepare` is ONNX's backend interface.

``format`` opens a file and reads its tensors. ``importer`` goes over the nodes in order, folds what
is known, translates each by the rows in ``operators``, and recognizes layer norm and gelu;
``nodes`` has a node and the graph that is built. ``exporter`` goes back.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

__all__ = ["prepare", "read", "write"]

if TYPE_CHECKING:
    from polygym.graphs.onnx.exporter import write
    from polygym.graphs.onnx.importer.backend import prepare
    from polygym.graphs.onnx.importer.reader import read
else:
    __getattr__ = lazy_attributes(__name__)
