"""Tests of polygym.poly.transform.splitting."""
