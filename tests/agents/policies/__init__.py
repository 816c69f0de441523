"""Tests of polygym.agents.policies."""
