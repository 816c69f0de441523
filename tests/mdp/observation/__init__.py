"""Tests of polygym.mdp.observation."""
