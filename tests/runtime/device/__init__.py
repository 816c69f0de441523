"""Tests of programs on devices, with a stand-in for the driver."""
