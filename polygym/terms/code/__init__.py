"""Code of terms: a program becomes C, and C machine code, which is called and timed.

``layout`` says what values are in C, ``shapes`` how large they are, ``interface`` what a function
takes and leaves. ``emit`` writes it, with a ``writer`` for its ``statements`` and ``scalars`` for
numbers. ``build`` has it compiled, ``compiled`` is the function that users call, with ``arrays``
for arguments. ``timed`` runs programs in turn in the measuring worker, on ``data`` of its own, and
``clock`` is that as a cost; ``oracle`` compares code with the interpreter, and ``record`` writes
both down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.terms.code.clock import Clock
    from polygym.terms.code.compiled import Compiled, compile
    from polygym.terms.code.timed import Race, raced
else:
    __getattr__ = lazily(
        __name__,
        {
            "clock": ("Clock",),
            "compiled": ("Compiled", "compile"),
            "timed": ("Race", "raced"),
        },
    )

__all__ = ["Clock", "Compiled", "Race", "compile", "raced"]
