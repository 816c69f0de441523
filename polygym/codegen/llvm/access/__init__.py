"""Accesses to memory in LLVM IR.

==================  ====================================================
``protocols``       the emitter of a function as its parts see it; cells
``emit_memory``     loads and stores of one or many lanes
``emit_gather``     loads and stores at computed subscripts
``emit_transpose``  blocks of tiles, transposed in registers
``emit_columns``    sums whose vectors run across rows, transposed and stored
==================  ====================================================
"""
