"""Programs for NVIDIA GPUs: the loops of a legal schedule as kernels of blocks and threads.

==================  =====================================================================
``device_program``  The device IR: launches on the host, kernels of threads with barriers
``shared_loops``    Loops that blocks and threads share
``mapping``         Legal schedule → device program
``promotion``       Parts of arrays in shared memory and in registers
``emulator``        Device programs run on NumPy arrays, and checked
``ptx``             Device programs as PTX: emission, NVIDIA's assembler, libdevice
==================  =====================================================================
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.gpu.mapping.pipeline import map_to_device
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["map_to_device"]
