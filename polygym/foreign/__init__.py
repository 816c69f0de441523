"""Functions of C, called through cffi: one module for each library, errors as ours.

``libc`` is the C library (memory, clocks, signals), ``openmp`` the library that starts threads;
``lent`` opens libraries of users, ``calls`` calls code that polygym has generated, and ``memory``
reads and writes at addresses.

cffi is used in its ABI mode, out of line: what is called is declared in C's words in a header
beside each module, and ``declarations`` writes it down in a form that need not be parsed at run
time (``_libc``, ``_openmp``). To parse takes 40 ms, and every worker would wait for it.
"""

__all__ = ["calls", "shared_libraries", "libc", "memory", "openmp"]
