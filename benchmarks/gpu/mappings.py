"""Random mappings to a GPU, of the options that there are."""

import numpy as np

from polygym.errors import InputError
from polygym.gpu.mapping.device_mapping import DeviceMapping, parse_device_mapping

_VALUES = {
    "block": ("32", "64", "128", "256", "8x8", "16x16", "32x4", "32x8", "16x4", "32x32"),
    "tile": (
        "32x32",
        "64x64",
        "128x64",
        "128x128",
        "64",
        "256",
        "32x32x8",
        "64x64x16",
        "128x128x8",
    ),
    "shared": ("auto", "off"),
    "registers": ("on", "off"),
    "reassociate": ("on", "off"),
}
_OPTIONS = tuple(_VALUES)
_TRIES = 100


def random_mapping(rng: np.random.Generator) -> DeviceMapping:
    """Return a mapping in which each option is the default or a random value."""
    for _ in range(_TRIES):
        words = ["device=cuda"]
        for name in _OPTIONS:
            if rng.random() < 0.7:
                words.append(f"{name}={rng.choice(_VALUES[name])}")
        try:
            return parse_device_mapping(" ".join(words))
        except InputError:  # a block with too many threads, or a value that an option has not
            continue
    return DeviceMapping()


def neighbour(mapping: DeviceMapping, rng: np.random.Generator) -> DeviceMapping:
    """Return a mapping that differs in one option."""
    for _ in range(_TRIES):
        name = str(rng.choice(_OPTIONS))
        try:
            return parse_device_mapping(f"{mapping} {name}={rng.choice(_VALUES[name])}")
        except InputError:
            continue
    return mapping
