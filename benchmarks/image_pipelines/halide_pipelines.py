"""The same pipelines in Halide, with the schedules of its autoschedulers.

``compiled(name, scheduler, size, threads)`` returns a function of an input and an output image. As
the C programs do, it computes all but the three outermost rows and columns.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import halide as hl
import numpy as np

MARGIN, PADDING = 3, 256
_x, _y = hl.Var("x"), hl.Var("y")


def _stage(name: str, expression: Any) -> Any:
    result = hl.Func(name)
    result[_x, _y] = expression
    return result


def _smooth(f: Any) -> Any:
    """Return the sum of three by three neighbours with the weights 1, 2, 1 in both directions."""
    return sum(
        (2 - abs(k)) * (2 - abs(m)) * f[_x + m, _y + k] for k in (-1, 0, 1) for m in (-1, 0, 1)
    )


def _sobel(f: Any) -> tuple[Any, Any]:
    dx = sum((2 - abs(k)) * (f[_x + 1, _y + k] - f[_x - 1, _y + k]) for k in (-1, 0, 1))
    dy = sum((2 - abs(k)) * (f[_x + k, _y + 1] - f[_x + k, _y - 1]) for k in (-1, 0, 1))
    return dx, dy


def _box(f: Any) -> Any:
    return sum(f[_x + m, _y + k] for k in (-1, 0, 1) for m in (-1, 0, 1))


def harris(image: Any) -> Any:
    """Return the stages of the corners."""
    blur = _stage("blur", _smooth(image) * hl.f32(0.0625))
    dx, dy = (_stage(name, e) for name, e in zip(("dx", "dy"), _sobel(blur), strict=True))
    xx, xy, yy = (
        _stage(name, a[_x, _y] * b[_x, _y])
        for name, a, b in (("xx", dx, dx), ("xy", dx, dy), ("yy", dy, dy))
    )
    sxx, sxy, syy = (_stage("s" + f.name(), _box(f)) for f in (xx, xy, yy))
    a, b, c = (f[_x, _y] for f in (sxx, sxy, syy))
    return _stage("out", a * c - b * b - hl.f32(0.04) * (a + c) * (a + c))


def bilateral(image: Any) -> Any:
    """Return the stages of the filter."""
    real = _stage("real", hl.f32(image[_x, _y]))
    total, weights = hl.f32(0), hl.f32(0)
    for k in range(-2, 3):
        for m in range(-2, 3):
            d = real[_x + m, _y + k] - real[_x, _y]
            w = 1 / (hl.f32(1 + 0.125 * (k * k + m * m)) + hl.f32(0.01) * d * d)
            total, weights = total + w * real[_x + m, _y + k], weights + w
    smooth = _stage("smooth", total / weights)
    around = smooth[_x, _y - 1] + smooth[_x, _y + 1] + smooth[_x - 1, _y] + smooth[_x + 1, _y]
    sharp = hl.f32(3) * smooth[_x, _y] - hl.f32(0.5) * around
    return _stage("out", hl.u8(hl.clamp(sharp, hl.f32(0), hl.f32(255))))


def canny(image: Any) -> Any:
    """Return the stages of the edges."""
    wide = _stage("wide", hl.i16(image[_x, _y]))
    blur = _stage("blur", (_smooth(wide) + hl.i16(8)) >> hl.i16(4))
    gx, gy = (_stage(name, e) for name, e in zip(("gx", "gy"), _sobel(blur), strict=True))
    ax, ay = (hl.i16(hl.abs(g[_x, _y])) for g in (gx, gy))
    magnitude = _stage("magnitude", ax + ay)

    def beside(step: int) -> Any:
        return hl.select(
            ax > ay, hl.Expr(magnitude[_x + step, _y]), hl.Expr(magnitude[_x, _y + step])
        )

    before, after, value = beside(-1), beside(1), hl.Expr(magnitude[_x, _y])
    level = hl.select(value > 160, hl.u8(255), value > 60, hl.u8(128), hl.u8(0))
    return _stage("out", hl.select((value >= before) & (value > after), level, hl.u8(0)))


def compiled(
    name: str, scheduler: str, size: int, threads: int
) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return a pipeline as a function, compiled for square images with an automatic schedule."""
    folder = Path(hl.__file__).parent / "lib64"
    hl.load_plugin(str(folder / f"libautoschedule_{scheduler.lower()}.so"))
    kind = hl.Float(32) if name == "harris" else hl.UInt(8)
    image = hl.ImageParam(kind, 2)
    image.set_estimates([(0, size), (0, size)])
    out = globals()[name](image)
    out.set_estimates([(MARGIN, size - 2 * MARGIN)] * 2)
    pipeline = hl.Pipeline(out)
    target = hl.get_host_target()
    options = {"parallelism": str(threads)}
    if scheduler == "Mullapudi2016":
        options |= {"last_level_cache_size": str(16 << 20), "balance": "40"}
    pipeline.apply_autoscheduler(target, hl.AutoschedulerParams(scheduler, options))
    pipeline.compile_jit(target)
    around: dict[str, np.ndarray] = {}

    def run(source: np.ndarray, result: np.ndarray) -> None:
        # A schedule may round tiles up beyond the image: there is memory around it.
        if around.setdefault("of", source) is not source or "image" not in around:
            around["image"] = np.pad(source, PADDING, mode="edge")
        padded = hl.Buffer(around["image"])
        padded.set_min([-PADDING, -PADDING])
        image.set(padded)
        inner = hl.Buffer(result[MARGIN:-MARGIN, MARGIN:-MARGIN])
        inner.set_min([MARGIN, MARGIN])
        pipeline.realize(inner)

    return run
