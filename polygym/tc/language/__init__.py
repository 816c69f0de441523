"""Where the language stood until version 0.1: pickles of that time name its ``syntax``."""

__all__: list[str] = []
