"""Foundations of the LLVM emitters.

=====================  ==========================================================
``types``              LLVM types, lanes, declarations
``emit_index``         indices, bounds, conditions and lanes in 64-bit arithmetic
``runtime_checks``     violations that code records as it runs
``binary_interface``   entry point, return codes and symbols that callers rely on
``memory_allocation``  heap memory of code, and arrays on the stack
``source_builder``     the builder of code that is printed as C
=====================  ==========================================================
"""
