"""Products, equations and attention, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import helper

from polygym.errors import InputError
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import (
    assert_same,
    check,
    numbers,
    save,
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((1, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (1, 4, 5)),
        ((2, 3, 3, 4), (1, 3, 4, 5)),
    ],
)
def test_products(left: Any, right: Any, tmp_path: Path) -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    path = save(tmp_path / "one.onnx", [node], {"x": left, "w": right})
    assert_same(path, [numbers(*left), numbers(*right, seed=1)])
    check(tmp_path, "MatMul", numbers(*left), numbers(*right, seed=1))


@pytest.mark.parametrize("bias", [None, (5,), (1, 5), (3, 1), (3, 5), (1,), ()])
@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm(bias: Any, turned: tuple[int, int], tmp_path: Path) -> None:
    x = numbers(*((4, 3) if turned[0] else (3, 4)))
    w = numbers(*((5, 4) if turned[1] else (4, 5)), seed=1)
    constants = [w] if bias is None else [w, numbers(*bias, seed=2)]
    for scales in ({}, {"alpha": 0.5, "beta": 2.0}):
        check(tmp_path, "Gemm", x, *constants, transA=turned[0], transB=turned[1], **scales)


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)),
        ("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 4, 5)),
        ("ij,k->kij", (2, 3), (4,)),
        ("i,i->i", (3,), (3,)),
        ("ij,ij->", (2, 3), (2, 3)),
        ("ij,jk", (2, 3), (3, 4)),
        ("kj,ji", (2, 3), (3, 4)),
        ("ij,jk->k", (2, 3), (3, 4)),
        ("ij,kl->jl", (2, 3), (3, 4)),
        ("...ij,jk->...ik", (2, 4, 2, 3), (3, 4)),
        ("...i,ij->j...", (2, 4, 3), (3, 5)),
        ("b...i,b...j->b...", (2, 4, 3), (2, 4, 5)),
    ],
)
def test_einsum(equation: str, left: Any, right: Any, tmp_path: Path) -> None:
    check(tmp_path, "Einsum", numbers(*left), numbers(*right, seed=1), equation=equation)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bij->bji", [(2, 3, 4)]),
        ("ijk->j", [(2, 3, 4)]),
        ("ij", [(2, 3)]),
        ("...ij->...ji", [(2, 3, 4)]),
        ("bi,ij,bj->b", [(2, 3), (3, 4), (2, 4)]),
        ("i,j,k->kij", [(2,), (3,), (4,)]),
        ("ij,jk,kl,lm->im", [(2, 3), (3, 4), (4, 2), (2, 5)]),
    ],
)
def test_einsum_of_one_and_of_many(
    equation: str, shapes: list[tuple[int, ...]], tmp_path: Path
) -> None:
    arrays = [numbers(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    check(tmp_path, "Einsum", *arrays, equation=equation)


def test_other_equations_are_refused(tmp_path: Path) -> None:
    for equation in ("ii,ij->j", "ij,jk->l", "ij,jk->ii", "i...j,...->ij", "i,ij->j", "ij->i"):
        node = helper.make_node("Einsum", ["x", "w"], ["y"], equation=equation)
        path = save(tmp_path / "one.onnx", [node], {"x": (3, 3), "w": (3, 3)})
        with pytest.raises(InputError, match=r"Einsum.*expected"):
            read(path)


@pytest.mark.parametrize("heads", [(4, 4), (4, 2)])
@pytest.mark.parametrize("causal", [0, 1])
def test_attention(heads: tuple[int, int], causal: int, tmp_path: Path) -> None:
    q, k = numbers(2, heads[0], 5, 3), numbers(2, heads[1], 6, 3, seed=1)
    check(tmp_path, "Attention", q, k, k[::-1], is_causal=causal, opset=23)
    q, k = numbers(2, 5, 3 * heads[0]), numbers(2, 6, 3 * heads[1], seed=1)
    sizes = {"q_num_heads": heads[0], "kv_num_heads": heads[1]}
    check(tmp_path, "Attention", q, k, k[::-1], numbers(5, 6), scale=0.4, opset=23, **sizes)
