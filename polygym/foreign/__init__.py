"""Calls of C functions through cffi: one module for each library, errors of polygym.

=================  ===============================================================================
``calls``          Calls of generated code and of users' libraries, and memory at an address
``cuda_driver``    NVIDIA's driver: devices, memory, modules, streams, events, launches
``declarations``   Conversion of a header to the form in which cffi reads declarations at run time
``libc``           The C library
``model_library``  Exported models as libraries: a context, called with the addresses of arrays
``openmp``         The OpenMP library of this machine: start of threads, and their time to spin
=================  ===============================================================================

cffi works in its ABI mode, out of line: a header beside each module declares the functions, and
``declarations`` writes it in a form that needs no parsing at run time (``_cuda``, ``_libc``, ``_openmp``).
Parsing takes 40 ms, and every worker would wait for it.
"""

__all__ = ["calls", "cuda_driver", "libc", "model_library", "openmp"]
