"""The version of polygym, and where its files are: for every room, below all of them."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.3.0.dev0"

PACKAGE = Path(__file__).parent
"""The folder ``polygym``."""
