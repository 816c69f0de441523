"""The script's needs of a machine, and those of them that are missing."""

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

_MODULES = {
    "numpy": "NumPy",
    "islpy": "the wheel of islpy",
    "llvmlite": "the wheel of llvmlite",
    "cffi": "the wheel of cffi",
    "ppl": "the wheel of pplpy",
    "highspy": "the wheel of highspy",
    "pycparser": "the wheel of pycparser",
    "pcpp": "the wheel of pcpp",
    "gymnasium": "the wheel of gymnasium",
    "torch": "PyTorch with CUDA, for the tables",
}


def missing_modules(is_there: Callable[[str], bool] | None = None) -> list[str]:
    """Return what is to be installed, in words; nothing is imported."""
    there = is_there or (lambda name: find_spec(name) is not None)
    return [text for name, text in _MODULES.items() if not there(name)]


def missing_driver() -> list[str]:
    """Return what is missing of the driver, in words; polygym has to be importable."""
    from polygym.errors import MissingDeviceError
    from polygym.foreign.cuda_driver import device_count

    try:
        return [] if device_count() else ["a GPU, of which the driver has none"]
    except MissingDeviceError as error:
        return [str(error)]


def missing_torch_device() -> list[str]:
    """Return what PyTorch lacks, in words."""
    import torch

    return [] if torch.cuda.is_available() else ["PyTorch with CUDA that sees the GPU"]


def missing_libdevice() -> list[str]:
    """Return whether libdevice is missing, in words: tanh and others are there."""
    from polygym.gpu.ptx.math_library import libdevice_path

    return [] if libdevice_path() else ["NVIDIA's libdevice: pip install nvidia-cuda-nvcc-cu12"]


def missing_code_generation(installed: str | None = None) -> list[str]:
    """Return what LLVM lacks for GPUs, in words; ``installed`` is the version of llvmlite."""
    try:
        found = installed or version("llvmlite")
    except PackageNotFoundError:
        found = "none"
    least = _least_version("llvmlite")
    if tuple(map(int, re.findall(r"\d+", found)[:2])) < tuple(map(int, least.split("."))):
        return [f"llvmlite {least} or later, found {found}"]
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    try:
        llvm.Target.from_triple("nvptx64-nvidia-cuda")
    except RuntimeError as error:
        return [f"LLVM's target nvptx64: {error}"]
    return []


def _least_version(package: str) -> str:
    """Return the least version of a package that the project asks for."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(rf'"{package}>=([\d.]+)"', text)
    assert found is not None
    return found[1]
