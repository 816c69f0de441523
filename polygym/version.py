"""The version of polygym, and the folders of its files: below all packages."""

from pathlib import Path

__version__ = "0.3.0"

PACKAGE = Path(__file__).parent
"""The folder ``polygym``."""
