"""Tests of polygym.mdp.records."""
