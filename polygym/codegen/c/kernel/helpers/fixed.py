"""Helpers without a type: whole quotients, memory, threads."""

from __future__ import annotations

from collections.abc import Mapping

from polygym.codegen.c.kernel.helpers.definitions import (
    INLINE,
    definition,
    written_definition,
)


def _openmp_number(name: str, call: str, otherwise: str) -> str:
    """Return a function of a number that OpenMP knows, with its value where there is no OpenMP."""
    lines = ["#ifdef _OPENMP", f"  return {call};", "#else", f"  return {otherwise};", "#endif"]
    return written_definition(f"long {name}(void)", lines)


FIXED: Mapping[str, str] = {
    "polygym_min": definition("long polygym_min(long a, long b)", "return a < b ? a : b;"),
    "polygym_max": definition("long polygym_max(long a, long b)", "return a > b ? a : b;"),
    "polygym_floor": definition(
        "long polygym_floor(long a, long b)", "return a / b - (a % b < 0);"
    ),
    "polygym_remainder": definition(
        "long polygym_remainder(long a, long b)", "return a % b + (a % b < 0 ? b : 0);"
    ),
    "polygym_threads": _openmp_number("polygym_threads", "omp_get_max_threads()", "1"),
    "polygym_thread": _openmp_number("polygym_thread", "omp_get_thread_num()", "0"),
    "polygym_fence": "\n".join(
        [
            f"{INLINE} void polygym_fence(void)",
            "{",
            "#ifdef __SSE2__",
            "  __builtin_ia32_sfence();",
            "#endif",
            "}",
        ]
    ),
    "polygym_publish": definition(
        "void polygym_publish(int *place, int code)",
        "int known = __atomic_load_n(place, __ATOMIC_RELAXED);",
        "while ((unsigned)known < (unsigned)code",
        "       && !__atomic_compare_exchange_n(place, &known, code, 0, __ATOMIC_RELAXED,",
        "                                       __ATOMIC_RELAXED))",
        "  ;",
    ),
    "polygym_allocate": "\n".join(
        [
            "/* Memory in whole lines of the cache; much of it in large pages, where known. */",
            "static inline __attribute__((unused)) void *polygym_allocate(long size)",
            "{",
            "  const long page = 1L << 21;",
            "  const int is_much = size > 32L << 20;",
            "  const size_t whole = is_much ? (size + page - 1) & -page : size;",
            "  void *memory = aligned_alloc(is_much ? page : 64, whole);",
            "#ifdef MADV_HUGEPAGE",
            "  if (is_much && memory)",
            "    madvise(memory, whole, MADV_HUGEPAGE);",
            "#endif",
            "  return memory;",
            "}",
        ]
    ),
    "polygym_reserve": "\n".join(
        [
            "/* Have the C library keep so much memory for the calls that follow. */",
            "static inline __attribute__((unused)) void polygym_reserve(long size)",
            "{",
            "  if (size <= 32L << 20) {",
            "    void *memory = polygym_allocate((size + 63) & -64L);",
            '    __asm__ volatile("" : : "r"(memory) : "memory");',
            "    free(memory);",
            "  }",
            "}",
        ]
    ),
}
"""The definitions of these helpers, by their names."""
