"""Tests of polygym.mdp.policies."""
