"""LLVM IR of code generation."""
