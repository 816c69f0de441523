"""Tests of the search for regions without pragmas."""
