"""ONNX files in and out: :func:`read` and :func:`write`; needs the extra ``graphs``.

``files`` opens a file and ``library`` the package onnx, ``tensors`` are arrays and ``entering`` the
inputs. ``reading`` goes over the ``nodes``, in the order that ``ordering`` finds, and translates
each by the table in ``translations``, whose ``rows`` stand in ``elementwise``, ``truths``,
``counting``, ``products``, ``images``, ``deconvolving``, ``resizing``, ``normalising``,
``recurrent``, ``shaping``, ``choosing`` and ``attention``; ``folding`` computes what is known,
``building`` keeps what was made, ``names`` makes names safe, and ``patterns`` finds layer norm and
gelu again. ``writing`` goes back: ``emitting`` makes the nodes, by the table in ``leaving``.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

__all__ = ["read", "write"]

if TYPE_CHECKING:
    from polygym.graphs.onnx.exporter.writer import write
    from polygym.graphs.onnx.importer.reader import read
else:
    __getattr__ = lazy_attributes(__name__)
