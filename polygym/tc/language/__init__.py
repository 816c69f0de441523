"""Where the language of comprehensions stood until version 0.1; pickles of that time name it."""

__all__: list[str] = []
