"""The seven networks as functions of PyTorch, at the small sizes, written apart from the library.

Each takes the inputs and the weights by name and returns the results. Paddings that PyTorch has no
word for are written out.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, relu, sigmoid, tanh
from torch.nn import functional as f

Weights = dict[str, Tensor]


def _same(x: Tensor, kernel: int, stride: int, value: float = 0.0) -> Tensor:
    """Pad so that there are ⌈extent / stride⌉ windows, the odd one below and to the right."""
    total = max((-(-x.shape[-1] // stride) - 1) * stride + kernel - x.shape[-1], 0)
    half = total // 2
    return f.pad(x, (half, total - half, half, total - half), value=value)


def _max(x: Tensor) -> Tensor:
    return f.max_pool2d(_same(x, 3, 2, -float("inf")), 3, 2)


def _mean(x: Tensor) -> Tensor:
    return f.avg_pool2d(x, 3, 1, padding=1, count_include_pad=False)


def _bert(inputs: list[Tensor], w: Weights) -> list[Tensor]:
    x = relu(inputs[0])
    results = []
    for layer in range(2):
        q, k, v = (
            (x @ w[f"layer{layer}.{part}"]).view(8, 4, 8).transpose(0, 1)
            for part in ("query", "key", "value")
        )
        results.append(torch.bmm(torch.bmm(q, k), v).transpose(0, 1).reshape(8, 32))
        x = x @ w[f"layer{layer}.output"]
    return [*results, x]


def _nasrnn(inputs: list[Tensor], w: Weights) -> list[Tensor]:
    h = w["state"]
    for step, x in enumerate(inputs):
        t = [x @ w[f"step{step}.x{n}"] + h @ w[f"step{step}.h{n}"] for n in range(8)]
        left = tanh(sigmoid(sigmoid(t[1]) + tanh(t[2])) + tanh(sigmoid(t[4]) * tanh(t[5])))
        right = tanh(tanh(relu(t[0]) + sigmoid(t[3])) * tanh(sigmoid(t[6]) * relu(t[7])))
        h = tanh(left * right)
    return [h]


def _resnext(inputs: list[Tensor], w: Weights) -> list[Tensor]:
    x = _max(relu(f.conv2d(_same(inputs[0], 7, 2), w["first"], stride=2)))
    for stage in range(2):
        for block in range(2):
            name = f"stage{stage}.block{block}"
            stride = 2 if (stage, block) == (1, 0) else 1
            t = relu(f.conv2d(x, w[f"{name}.narrow"]))
            t = relu(f.conv2d(_same(t, 3, stride), w[f"{name}.grouped"], stride=stride, groups=4))
            t = f.conv2d(t, w[f"{name}.wide"])
            if f"{name}.past" in w:
                x = relu(f.conv2d(x, w[f"{name}.past"], stride=stride))
            x = relu(x + t)
    return [x]


def _nasnet(inputs: list[Tensor], w: Weights) -> list[Tensor]:
    def separable(x: Tensor, name: str, stride: int = 1) -> Tensor:
        alone = w[f"{name}.alone"]
        padded = _same(x, alone.shape[-1], stride)
        t = f.conv2d(padded, alone, stride=stride, groups=x.shape[1])
        return f.conv2d(t, w[f"{name}.across"])

    x = _max(relu(f.conv2d(_same(inputs[0], 7, 2), w["first"], stride=2)))
    for stage in range(2):
        p = x
        for cell in range(2):
            n = f"stage{stage}.cell{cell}"
            now, before = relu(f.conv2d(x, w[f"{n}.now"])), relu(f.conv2d(p, w[f"{n}.before"]))
            sums = [
                separable(now, f"{n}.a") + now,
                separable(before, f"{n}.b") + separable(now, f"{n}.c"),
                _mean(now) + before,
                2 * _mean(before),
                separable(before, f"{n}.d") + separable(before, f"{n}.e"),
            ]
            p, x = x, torch.cat(sums, 1)
        n = f"stage{stage}.reduction"
        now, before = relu(f.conv2d(x, w[f"{n}.now"])), relu(f.conv2d(p, w[f"{n}.before"]))
        first = separable(before, f"{n}.a", 2) + separable(now, f"{n}.b", 2)
        second = _max(now) + separable(before, f"{n}.c", 2)
        # Windows hang over below and to the right alone: what hangs over is not counted.
        ones = torch.ones_like(now)
        halved = f.avg_pool2d(_same(now, 3, 2), 3, 2) / f.avg_pool2d(_same(ones, 3, 2), 3, 2)
        third = halved + separable(before, f"{n}.d", 2)
        fourth = _max(now) + separable(first, f"{n}.e")
        x = torch.cat([first, second, third, fourth, _mean(first) + second], 1)
    return [x]


def _inception(inputs: list[Tensor], w: Weights) -> list[Tensor]:
    def conv(x: Tensor, name: str, stride: int = 1, is_valid: bool = False) -> Tensor:
        rows, columns = w[name].shape[2:]
        pads = (0, 0) if is_valid else (rows // 2, columns // 2)
        return relu(f.conv2d(x, w[name], stride=stride, padding=pads))

    def tower(x: Tensor, name: str) -> Tensor:
        for place in range(5):
            x = conv(x, f"{name}{place}") if f"{name}{place}" in w else x
        return x

    x = conv(conv(conv(inputs[0], "front0", 2, True), "front1", 1, True), "front2")
    x = conv(conv(f.max_pool2d(x, 3, 2), "front3"), "front4", 1, True)
    x = f.max_pool2d(x, 3, 2)
    parts = [tower(x, f"a0.{name}") for name in ("single", "five", "double")]
    x = torch.cat([*parts, tower(_mean(x), "a0.mean")], 1)
    three = conv(x, "b.three", 2, True)
    double = conv(tower(x, "b.double"), "b.half", 2, True)
    x = torch.cat([f.max_pool2d(x, 3, 2), three, double], 1)
    parts = [tower(x, f"c0.{name}") for name in ("single", "seven", "double")]
    x = torch.cat([*parts, tower(_mean(x), "c0.mean")], 1)
    three = conv(tower(x, "d.three"), "d.half", 2, True)
    seven = conv(tower(x, "d.seven"), "d.end", 2, True)
    x = torch.cat([three, seven, f.max_pool2d(x, 3, 2)], 1)
    three, double = tower(x, "e0.three"), tower(x, "e0.double")
    forks = [conv(t, f"e0.{n}") for t, n in ((three, "three.across"), (three, "three.down"))]
    forks += [conv(t, f"e0.{n}") for t, n in ((double, "double.across"), (double, "double.down"))]
    x = torch.cat([tower(x, "e0.single"), *forks, tower(_mean(x), "e0.mean")], 1)
    return [x.mean((2, 3), keepdim=True)]


def _vgg(inputs: list[Tensor], w: Weights) -> list[Tensor]:
    x = inputs[0]
    for stage, count in enumerate((1, 1, 2)):
        for place in range(count):
            x = relu(f.conv2d(x, w[f"stage{stage}.conv{place}"], padding=1))
        x = f.max_pool2d(x, 2)
    x = x.flatten(1)
    return [f.linear(relu(f.linear(relu(f.linear(x, w["dense0"])), w["dense1"])), w["dense2"])]


def _squeezenet(inputs: list[Tensor], w: Weights) -> list[Tensor]:
    def fire(x: Tensor, name: str) -> Tensor:
        x = relu(f.conv2d(x, w[f"{name}.narrow"]))
        single = relu(f.conv2d(x, w[f"{name}.wide1"]))
        return torch.cat([single, relu(f.conv2d(x, w[f"{name}.wide3"], padding=1))], 1)

    x = f.max_pool2d(relu(f.conv2d(inputs[0], w["first"], stride=2)), 3, 2)
    x = f.max_pool2d(fire(x, "stage0.fire0"), 3, 2)
    x = f.max_pool2d(fire(x, "stage1.fire0"), 3, 2)
    x = fire(fire(x, "stage2.fire0"), "stage2.fire1")
    return [relu(f.conv2d(x, w["classes"])).mean((2, 3))]


NETWORKS: dict[str, Callable[[list[Tensor], Weights], list[Tensor]]] = {
    "bert": _bert,
    "resnext50": _resnext,
    "nasnet-a": _nasnet,
    "nasrnn": _nasrnn,
    "inception-v3": _inception,
    "vgg19": _vgg,
    "squeezenet": _squeezenet,
}
