"""recurrence_lanes: to be described."""

__all__: list[str] = []
