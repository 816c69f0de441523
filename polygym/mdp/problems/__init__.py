"""Programs that episodes are about: ``loading`` resolves them, ``arguments`` checks options."""
