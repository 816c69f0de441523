"""Tests of polygym.agents.evaluation."""
