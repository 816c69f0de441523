"""Tests of programs for GPUs."""
