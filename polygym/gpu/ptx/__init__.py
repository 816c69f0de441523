"""PTX, the assembly of NVIDIA GPUs, of device programs.

=====================  ===================================================================
``emit_device``        A device program as one LLVM module for nvptx64
``emit_kernel``        One kernel: storage, numbers of threads, barriers
``kernel_signature``   What a launch hands to a kernel
``local_loops``        Unrolling of loops that count through registers
``emit_atomics``       Updates that several threads make of one element
``math_library``       Functions of ``math.h`` from libdevice
``compile_ptx``        LLVM IR → PTX, with the memory and the arguments of each kernel
``cuda_text``          Device programs as CUDA C++, to be read
``ptxas``              NVIDIA's assembler, where there is one: machine code and its resources
=====================  ===================================================================
"""
