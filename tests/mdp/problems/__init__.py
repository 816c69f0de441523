"""Tests of polygym.mdp.problems."""
