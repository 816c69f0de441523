"""Tests of polygym.pictures.scenes."""
