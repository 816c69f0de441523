"""Tests of polygym.cli.output."""
