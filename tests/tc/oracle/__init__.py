"""Tests of polygym.tc.oracle."""
