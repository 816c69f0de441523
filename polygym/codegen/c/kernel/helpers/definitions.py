"""Definitions of helpers as text: a head, a body, and a faster one where the processor has it."""

from __future__ import annotations

from collections.abc import Sequence

INLINE = "static inline __attribute__((always_inline, unused))"
"""What helpers have before their results."""


def definition(head: str, *lines: str) -> str:
    """Return a function with the lines of its body."""
    return written_definition(head, [f"  {line}" for line in lines])


def written_definition(head: str, body: Sequence[str]) -> str:
    """Return a function with its body as it is written, directives of the preprocessor too."""
    return "\n".join([f"{INLINE} {head}", "{", *body, "}"])


def guarded_definition(head: str, fast: Sequence[str], slow: Sequence[str]) -> str:
    """Return a function with two bodies; ``fast`` begins with ``#if``, and may be empty.

    For example, of the square roots of two numbers::

        double_x2 polygym_sqrt_double_x2(double_x2 a)
        {
        #if defined(__SSE4_1__)
          return (double_x2)_mm_sqrt_pd((__m128d)a);
        #else
          return (double_x2){__builtin_sqrt(a[0]), __builtin_sqrt(a[1])};
        #endif
        }
    """
    body = [*fast, "#else", *slow, "#endif"] if fast else slow
    return written_definition(head, body)
