"""Tests of polygym.codegen.llvm.loops."""
