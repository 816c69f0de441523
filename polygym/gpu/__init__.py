"""Programs for NVIDIA GPUs: the loops of a legal schedule as kernels of blocks and threads.

==================  =====================================================================
``device_program``  The device IR: launches on the host, kernels of threads with barriers
``ptx``             Device programs as PTX: emission, NVIDIA's assembler, libdevice
==================  =====================================================================
"""
