"""Tests of what stands under benchmarks."""
