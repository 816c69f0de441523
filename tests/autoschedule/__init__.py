"""Tests of polygym.autoschedule."""
