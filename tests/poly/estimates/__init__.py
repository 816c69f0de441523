"""Tests of quick estimates of a program."""
