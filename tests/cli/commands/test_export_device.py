"""``polygym export`` for GPUs, which needs none."""

import json
from pathlib import Path

import pytest

from polygym.errors import LimitError
from polygym.gpu.mapping import pipeline
from polygym.gpu.ptx.ptxas import find_ptxas
from tests.cli.invoke import call, call_json

PRODUCT = ("tc:matmul", "-p", "M=64,N=48,K=32", "--mapping", "device=cuda")


def test_ptx(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, found = call_json(
        capsys, "export", *PRODUCT, "--kind", "ptx", "--gpu", "sm_90", "--out", str(tmp_path)
    )
    assert code == 0
    assert (found["mapping"], found["architecture"]) == ("device=cuda", "sm_90")
    ptx = (tmp_path / "matmul.ptx").read_text()
    launches = json.loads((tmp_path / "matmul.json").read_text())
    assert ".target sm_90" in ptx
    assert launches["sizes"] == {"M": 64, "N": 48, "K": 32}
    for kernel in launches["kernels"]:
        assert f".entry {kernel['name']}(" in ptx
    assert [part["launch"] for part in launches["host"]] == found["kernels"]
    arrays = {own["array"] for kernel in launches["kernels"] for own in kernel["arguments"]}
    assert arrays == {"A", "B", "C"}
    code, out, _ = call(
        capsys, "export", *PRODUCT, "--kind", "ptx", "--name", "fast", "--out", str(tmp_path)
    )
    assert code == 0
    assert "GPU: sm_80 and later" in out
    assert (tmp_path / "fast.ptx").exists()


def test_a_time_loop_is_the_host_s(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ("--schedule", "original", "--mapping", "device=cuda", "--kind", "ptx")
    code, _ = call_json(capsys, "export", "jacobi-1d", *options, "--out", str(tmp_path))
    assert code == 0
    launches = json.loads((tmp_path / "kernel_jacobi_1d.json").read_text())
    (loop,) = launches["host"]
    assert [part["launch"] for part in loop["body"]] == [
        kernel["name"] for kernel in launches["kernels"]
    ]


def test_a_fallback_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: object) -> object:
        raise LimitError("too many operations")

    monkeypatch.setattr(pipeline, "_planned", failing)
    reason = "a single thread in place of the schedule: too many operations"
    code, found = call_json(capsys, "export", *PRODUCT, "--kind", "ptx", "--out", str(tmp_path))
    assert (code, found["fallback"]) == (0, reason)
    assert json.loads((tmp_path / "matmul.json").read_text())["fallback"] == reason
    code, out, said = call(capsys, "show", *PRODUCT)
    assert code == 0
    assert f"warning: {reason}" in " ".join(said.split())
    assert "warning" not in out


@pytest.mark.skipif(find_ptxas() is None, reason="no ptxas here: nvidia-cuda-nvcc-cu12")
def test_machine_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "export", *PRODUCT, "--kind", "cubin", "--out", str(tmp_path))
    assert code == 0
    assert " registers" in out
    assert (tmp_path / "matmul.cubin").read_bytes()[:4] == b"\x7fELF"
    kernels = json.loads((tmp_path / "matmul.json").read_text())["kernels"]
    assert all(kernel["registers"] > 0 for kernel in kernels)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*PRODUCT, "--kind", "object"), "expected --kind ptx, cubin, cuda, found object"),
        (("tc:matmul", "-p", "M=1,N=1,K=1", "--kind", "ptx"), "expected with --mapping device"),
        ((*PRODUCT, "--kind", "ptx", "--gpu", "gfx90a"), "expected sm_70, sm_80, sm_90"),
        (("best.json", *PRODUCT[3:], "--kind", "ptx"), "expected a program, found best.json"),
    ],
)
def test_refusals(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    code, _, said = call(capsys, "export", *words, "--out", str(tmp_path))
    assert code == 2
    assert message in " ".join(said.split())


@pytest.mark.parametrize("command", ["run", "bench", "optimize", "sweep", "apply"])
def test_commands_that_measure_say_what_a_gpu_needs(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    code, _, said = call(capsys, command, "gemm", "--mapping", "device=cuda")
    assert code == 2
    assert "NVIDIA's driver (libcuda.so.1)" in " ".join(said.split())


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ((), ("__global__ void", "<<<dim3(")),
        (("--after", "kernels"), ("define ptx_kernel void", "llvm.nvvm.read.ptx.sreg.tid.x")),
        (("--after", "ptx"), (".visible .entry", ".target sm_80")),
    ],
)
def test_show(
    capsys: pytest.CaptureFixture[str], after: tuple[str, ...], words: tuple[str, ...]
) -> None:
    code, out, _ = call(capsys, "show", "gemm", "--mapping", "device=cuda", *after)
    assert code == 0
    assert all(word in out for word in words)
    code, found = call_json(capsys, "show", *PRODUCT, *after)
    assert (code, found["mapping"]) == (0, "device=cuda")
    code, _, said = call(capsys, "show", *PRODUCT, "--after", "plan")
    assert code == 2
    assert "expected cuda, kernels, ptx with --mapping device=cuda" in " ".join(said.split())
