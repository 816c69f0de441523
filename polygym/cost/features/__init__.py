"""Features of programs, statements, schedules, loops and candidates, a package each."""

__all__: list[str] = []
