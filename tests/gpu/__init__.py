"""Tests of programs for GPUs, without one."""
