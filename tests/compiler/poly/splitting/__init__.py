"""Tests of polygym.compiler.poly.splitting."""
