"""Tests of polygym.codegen.c."""
