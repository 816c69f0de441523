"""Tests of polygym.agents.trainers."""
