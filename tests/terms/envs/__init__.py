"""Tests of terms/envs."""
