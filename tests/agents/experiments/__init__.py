"""Tests of polygym.agents.experiments."""
