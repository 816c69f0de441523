"""Tests of loop transformations: trees, steps, legality, states."""
