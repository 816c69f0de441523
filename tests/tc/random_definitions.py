"""Random differentiable comprehensions, by numbers: one or two statements of every kind."""

from __future__ import annotations

import random

INDICES = ("i", "j", "k")
TENSORS = {"A": 1, "B": 2, "V": 1}
SHAPES = {"A": (6,), "B": (6, 4), "V": (3,)}
FUNCTIONS = (
    "sin({0})", "exp(0.3 * {0})", "tanh({0})", "{0} * {0}", "sqrt(1.5 + {0} * {0})", "fabs({0})",
    "log(3 + sin({0}))", "atan({0})", "normcdf({0})", "erf({0})", "1 / (2 + cos({0}))",
    "max({0}, 0.1)", "min({0}, 0.2)", "hypot({0}, 1.5)", "pow(2 + sin({0}), 1.7)",
)  # fmt: skip
GUARDS = (
    "i >= 1 && j < N - 1", "i < j", "(i + j) % 2 == 0", "i / 2 >= j", "V(0) > 0",
    "V(0) < 0 || i >= j",
)  # fmt: skip
CONDITIONS = ("i <= 2", "V(0) > -9", "i >= j", "V(0) > 0")
AFTER_ONE = (
    ("", ""), ("O({0}) = tanh(O({0}))", ""), ("P({0}) = O({0}) * V({0})", "P"),
    ("O({0}) += O({0}) * V(l)", ""), ("O({0}) max= V({0})", ""), ("O({0}) *= V({0}) + 2", ""),
    ("P(z) +=! O(z) * O(z + 1) * V(0)", "P"), ("P +=! exp(0.1 * O({0})) O({0}) += V({0})", "P"),
)  # fmt: skip
AFTER_TWO = (
    ("", ""), ("P({0}) +=! O({0}, {1}) * O({0}, {1})", "P"),
    ("T({1}) max=! O({0}, {1}) P({0}, {1}) = O({0}, {1}) / (2 + T({1}) * T({1}))", "P"),
    ("O({0}, {1}) = O({0}, {1}) * O({0}, {1})", ""),
)  # fmt: skip


class RandomDefinition:
    """The choices of one definition."""

    def __init__(self, seed: int) -> None:
        """Start from a number."""
        self.rng = random.Random(seed)

    def subscript(self) -> str:
        rng = self.rng
        names = rng.sample(INDICES, rng.choice([1, 1, 1, 2]))
        text = " + ".join(name if rng.random() < 0.8 else f"2 * {name}" for name in names)
        text += rng.choice(["", "", "", "", " + 1"])
        forms = ["{}"] * 14 + ["({}) / 2", "({}) % 2", "J({})", "J({})"]
        return rng.choice(forms).format(text)

    def element(self) -> str:
        name = self.rng.choice(list(TENSORS))
        return f"{name}({', '.join(self.subscript() for _ in range(TENSORS[name]))})"

    def value(self, depth: int = 2) -> str:
        rng = self.rng
        kind = rng.random()
        if depth == 0 or kind < 0.3:
            return self.element()
        if kind < 0.6:
            return f"({self.value(depth - 1)} {rng.choice('+-*')} {self.value(depth - 1)})"
        if kind < 0.85:
            return rng.choice(FUNCTIONS).format(self.value(depth - 1))
        other = rng.choice([self.element(), "0.5"])
        return f"({rng.choice(GUARDS)} ? {self.value(depth - 1)} : {other})"

    def text(self) -> str:
        """Return a definition; many have no ranges."""
        rng = self.rng
        left = rng.sample(INDICES, rng.randint(0, 2))
        target = f"O({', '.join(left)})" if left else "O"
        assign = rng.choice(["+=!", "+=!", "+=!", "max=!", "min=!", "*=!", "="])
        value = self.value()
        condition = rng.choice(CONDITIONS) if rng.random() < 0.25 else ""
        used = [i for i in INDICES if any(i in text.split() for text in self._words(target, value))]
        used += [i for i in INDICES if i in condition.split() and i not in used]
        where = [f"{i} in {rng.randint(0, 1)}:{rng.randint(2, 3)}" for i in used]
        where += [condition] if condition else []
        after = rng.choice({0: (("", ""),), 1: AFTER_ONE, 2: AFTER_TWO}[len(left)])
        outputs = rng.choice(["O, P", "P"]) if after[1] else "O"
        statements = f"{target} {assign} {value}{' where ' * bool(where)}{', '.join(where)}"
        return (
            "def f(double(M) A, double(M, N) B, double(K) V, int(N) J) "
            f"-> ({outputs}) {{ {statements} {after[0].format(*left)} }}"
        )

    @staticmethod
    def _words(*texts: str) -> list[str]:
        plain = str.maketrans(dict.fromkeys("(),+-*/%<>=&|?:", " "))
        return [text.translate(plain) for text in texts]
