"""Tests of polygym.codegen.llvm.core."""
