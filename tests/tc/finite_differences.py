"""First and second derivatives of a function of tensors beside finite differences of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

STEP = 1e-5


def assert_gradients(
    function: Callable[..., Any], tensors: Sequence[Any], rng: np.random.Generator, count: int = 3
) -> bool:
    """Compare the first two derivatives at ``count`` elements of each tensor.

    The forward derivative of the first has to agree with them, too. Elements at a kink are left
    out. Return whether there was anything to compare.
    """
    import torch

    weights: list[Any] = []

    def loss(*given: Any) -> Any:
        results = function(*given)
        several = results if isinstance(results, tuple) else (results,)
        if not weights:
            weights.extend(torch.tensor(rng.normal(size=one.shape)) for one in several)
        pairs = zip(several, weights, strict=True)
        return sum((one * w).sum() for one, w in pairs if one.is_floating_point())

    watched = [tensor.clone().requires_grad_() for tensor in tensors]
    total = loss(*watched)
    if not total.requires_grad or not torch.isfinite(total):
        return False
    first = torch.autograd.grad(total, watched, create_graph=True, allow_unused=True)
    _compare(loss, tensors, first, rng, count, 1e-4)
    along = [torch.tensor(rng.normal(size=tensor.shape)) for tensor in tensors]

    def change(*given: Any) -> Any:
        own = [tensor.detach().clone().requires_grad_() for tensor in given]
        found = torch.autograd.grad(loss(*own), own, create_graph=True, allow_unused=True)
        pairs = zip(found, along, strict=True)
        return sum((one * a).sum() for one, a in pairs if one is not None), own

    second, own = change(*tensors)
    if isinstance(second, torch.Tensor) and second.requires_grad:
        found = torch.autograd.grad(second, own, allow_unused=True)
        _compare(lambda *given: change(*given)[0], tensors, found, rng, count, 1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's own, at its first jvp
        _, forward = torch.func.jvp(loss, tuple(tensors), tuple(along))
    if torch.isfinite(second):
        np.testing.assert_allclose(
            forward.detach().item(), second.detach().item(), rtol=1e-6, atol=1e-8
        )
    return True


def _compare(
    function: Callable[..., Any],
    tensors: Sequence[Any],
    derivatives: Sequence[Any],
    rng: np.random.Generator,
    count: int,
    tolerance: float,
) -> None:
    for place, (tensor, derivative) in enumerate(zip(tensors, derivatives, strict=True)):
        elements = list(np.ndindex(tuple(tensor.shape)))
        for number in rng.permutation(len(elements))[:count]:
            element = elements[number]
            values = []
            for step in (STEP, -STEP, STEP / 2, -STEP / 2):
                moved = [one.clone() for one in tensors]
                moved[place][element] += step
                values.append(function(*moved).detach().item())
            wide, narrow = (values[0] - values[1]) / (2 * STEP), (values[2] - values[3]) / STEP
            if not np.isfinite(wide) or abs(wide - narrow) > 1e-4 * (1 + abs(wide)):
                continue  # a kink, or no number
            found = 0.0 if derivative is None else derivative[element].detach().item()
            assert abs(narrow - found) <= tolerance * (1 + abs(narrow)), (
                place,
                element,
                narrow,
                found,
            )
