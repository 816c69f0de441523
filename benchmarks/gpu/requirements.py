"""What the script needs of a machine, and what of that is missing."""

from collections.abc import Callable
from importlib.util import find_spec

_MODULES = {
    "numpy": "NumPy",
    "islpy": "the wheel of islpy",
    "llvmlite": "the wheel of llvmlite, 0.46 or later",
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


def missing_code_generation() -> list[str]:
    """Return what LLVM lacks for GPUs, in words."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    try:
        llvm.Target.from_triple("nvptx64-nvidia-cuda")
    except RuntimeError as error:
        return [f"LLVM's target nvptx64: {error}"]
    return []
