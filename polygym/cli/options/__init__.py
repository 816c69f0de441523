"""Options that several commands share.

``common`` has programs, sizes, mappings and searches; ``values`` has options by type; ``schedules``
reads schedules, ``variants`` those of a program (splitting and storage), ``carry`` the
dimensions of dependences, ``cluster`` an address, ``text_files`` files that a user names.
"""

__all__: list[str] = []
