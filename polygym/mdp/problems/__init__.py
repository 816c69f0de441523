"""Programs that episodes are about: ``loading`` resolves them, ``arguments`` checks options."""

__all__: list[str] = []
