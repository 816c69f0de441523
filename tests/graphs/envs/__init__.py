"""Tests of polygym.graphs.envs."""
