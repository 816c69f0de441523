"""The twenty programs on arrays of NumPy, PyTorch and JAX, and their sizes.

Most forms are written once: ``xp`` is the library. Derivatives are by hand in NumPy, by the
library's own differentiation in PyTorch and JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SIZES: dict[str, dict[str, int]] = {
    "product_chain": {"n": 400, "k": 400, "m": 400},
    "softmax": {"n": 500, "m": 500},
    "layer_norm": {"n": 500, "m": 500},
    "attention": {"n": 256, "d": 64},
    "mixture": {"n": 1000, "k": 20, "d": 16},
    "mixture_gradient": {"n": 1000, "k": 20, "d": 16},
    "covariance": {"n": 1000, "m": 100},
    "distances": {"n": 300, "m": 300, "d": 16},
    "kernel_sum": {"n": 500, "m": 500},
    "logistic_loss": {"n": 2000, "m": 100},
    "logistic_gradient": {"n": 2000, "m": 100},
    "logistic_direction": {"n": 2000, "m": 100},
    "diffusion": {"n": 700, "m": 700},
    "smooth_twice": {"n": 200_000},
    "cumulative_sum": {"n": 200_000},
    "pair_energy": {"n": 600},
    "rms_norm": {"n": 500, "m": 500},
    "bilinear": {"n": 700, "m": 700},
    "dense_tanh": {"n": 200, "m": 200, "k": 200},
    "polynomial": {"n": 200_000},
}
"""The sizes that are timed, by the name of the program."""


def product_chain(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """(AB)x, as it is written."""
    return (a @ b) @ x


def softmax(xp: Any, a: Any) -> Any:
    """Softmax of rows."""
    powers = xp.exp(a)
    return powers / powers.sum(1)[:, None]


def layer_norm(xp: Any, a: Any, g: Any, b: Any) -> Any:
    """Layer normalization of rows."""
    centred = a - a.mean(1)[:, None]
    variance = (centred * centred).mean(1)
    return b + g * (centred / xp.sqrt(variance + 0.00001)[:, None])


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    """Attention of all queries."""
    w = xp.exp(q @ k.T)
    return (w @ v) / w.sum(1)[:, None]


def _responsibilities(xp: Any, weights: Any, means: Any, scales: Any, x: Any) -> Any:
    z = xp.exp(scales)[None] * (x[:, None] - means[None])
    return z, xp.exp(weights + scales.sum(1) - 0.5 * (z * z).sum(2))


def mixture(xp: Any, weights: Any, means: Any, scales: Any, x: Any) -> Any:
    """Log-likelihood of a Gaussian mixture."""
    return xp.log(_responsibilities(xp, weights, means, scales, x)[1].sum(1)).sum()


def mixture_gradient(xp: Any, weights: Any, means: Any, scales: Any, x: Any) -> Any:
    """Its derivatives by all arguments."""
    z, parts = _responsibilities(xp, weights, means, scales, x)
    r = parts / parts.sum(1)[:, None]
    e = r[:, :, None] * z * np.exp(scales)[None]
    return r.sum(0), e.sum(0), (r[:, :, None] * (1.0 - z * z)).sum(0), -e.sum(1)


def covariance(xp: Any, a: Any) -> Any:
    """Covariance of columns."""
    centred = a - a.mean(0)[None]
    return centred.T @ centred / a.shape[0]


def distances(xp: Any, x: Any, y: Any) -> Any:
    """Distances of all pairs of points."""
    e = x[:, None] - y[None]
    return xp.sqrt((e * e).sum(2))


def kernel_sum(xp: Any, x: Any, y: Any) -> Any:
    """Sum of a Gaussian kernel over all pairs."""
    e = x[:, None] - y[None]
    return xp.exp(-e * e).sum()


def logistic_loss(xp: Any, a: Any, w: Any, y: Any) -> Any:
    """Loss of a logistic regression."""
    s = a @ w
    return (xp.log(1.0 + xp.exp(s)) - y * s).sum()


def _slope(a: Any, w: Any, y: Any) -> Any:
    powers = np.exp(a @ w)
    return powers / (1.0 + powers) - y


def logistic_gradient(xp: Any, a: Any, w: Any, y: Any) -> Any:
    """Its gradient by w."""
    return a.T @ _slope(a, w, y)


def logistic_direction(xp: Any, a: Any, w: Any, y: Any, u: Any) -> Any:
    """Its derivative in a direction of w."""
    return _slope(a, w, y) @ (a @ u)


def diffusion(xp: Any, u: Any, rate: Any) -> Any:
    """One step of diffusion; the boundary stays."""
    inner = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + (u[1:-1, :-2] + u[1:-1, 2:])
    rows = xp.concatenate([u[1:-1, :1], inner + rate * (around - 4.0 * inner), u[1:-1, -1:]], 1)
    return xp.concatenate([u[:1], rows, u[-1:]], 0)


def smooth_twice(xp: Any, v: Any) -> Any:
    """A mean of three neighbours, twice."""
    for _ in range(2):
        v = xp.concatenate([v[:1], (v[:-2] + v[1:-1] + v[2:]) / 3.0, v[-1:]], 0)
    return v


def cumulative_sum(xp: Any, v: Any) -> Any:
    """Sums of more and more elements."""
    return xp.cumsum(v, 0)


def pair_energy(xp: Any, x: Any, y: Any) -> Any:
    """Sum over all pairs of points, each once."""
    dx, dy = x[:, None] - x[None], y[:, None] - y[None]
    return xp.tril(1.0 / xp.sqrt(0.01 + dx * dx + dy * dy), -1).sum()


def rms_norm(xp: Any, a: Any, g: Any) -> Any:
    """Root-mean-square normalization of rows."""
    return g * a / xp.sqrt(0.00001 + (a * a).mean(1))[:, None]


def bilinear(xp: Any, x: Any, a: Any, y: Any) -> Any:
    """A bilinear form."""
    return x @ a @ y


def dense_tanh(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """A dense layer with tanh."""
    return xp.tanh(x @ w.T + b)


def polynomial(xp: Any, x: Any) -> Any:
    """A polynomial by Horner's rule."""
    return 1.0 + x * (0.5 + x * (0.25 + x * (0.125 + x * (0.0625 - x * 0.03125))))


FORMS: dict[str, Callable[..., Any]] = {name: globals()[name] for name in SIZES}
"""The forms by the names of the programs."""


def numpy_form(name: str) -> Callable[..., Any]:
    """Return a program on NumPy's arrays."""
    return lambda *arrays: FORMS[name](np, *arrays)


def torch_form(name: str) -> Callable[..., Any]:
    """Return a program on PyTorch's tensors, in eager mode."""
    import torch

    if name == "mixture_gradient":
        gradient = torch.func.grad(lambda *given: mixture(torch, *given), argnums=(0, 1, 2, 3))
        return lambda *tensors: gradient(*tensors)
    if name == "logistic_gradient":
        by_w = torch.func.grad(lambda w, a, y: logistic_loss(torch, a, w, y))
        return lambda a, w, y: by_w(w, a, y)
    if name == "logistic_direction":
        return lambda a, w, y, u: torch.func.jvp(
            lambda t: logistic_loss(torch, a, t, y), (w,), (u,)
        )[1]
    return lambda *tensors: FORMS[name](torch, *tensors)


def jax_form(name: str) -> Callable[..., Any]:
    """Return a program on JAX's arrays, under jit."""
    import jax
    import jax.numpy as jnp

    if name == "mixture_gradient":
        return jax.jit(jax.grad(lambda *given: mixture(jnp, *given), argnums=(0, 1, 2, 3)))
    if name == "logistic_gradient":
        return jax.jit(jax.grad(lambda a, w, y: logistic_loss(jnp, a, w, y), argnums=1))
    if name == "logistic_direction":
        return jax.jit(
            lambda a, w, y, u: jax.jvp(lambda t: logistic_loss(jnp, a, t, y), (w,), (u,))[1]
        )
    return jax.jit(lambda *arrays: FORMS[name](jnp, *arrays))
