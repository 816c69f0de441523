"""Tests of the limit of programs."""
