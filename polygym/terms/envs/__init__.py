"""The environment of terms, ``polygym/Rewrite-v0``.

``rewrite`` is the environment, a thin shell around an ``episode``, which is a value; ``shown`` puts
terms into flat arrays, which ``pieces`` make part by part, ``records`` episodes into JSON and back,
``render`` them into text and pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.terms.envs.records import replay
    from polygym.terms.envs.rewrite import RewriteEnv
else:
    __getattr__ = lazily(__name__, {"records": ("replay",), "rewrite": ("RewriteEnv",)})

__all__ = ["RewriteEnv", "replay"]
