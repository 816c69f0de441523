"""Tests of polygym.agents.networks."""
