"""Tests of the machine's peaks."""
