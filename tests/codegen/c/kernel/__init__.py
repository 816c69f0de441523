"""Tests of kernels that are printed as C."""
