"""Options that several commands share.

``common`` has programs, sizes, mappings and searches; ``values`` has options by type, and files
that a user names; ``schedules`` reads schedules, ``variants`` those of a program (splitting and
storage), ``agents`` those of agents, ``carry`` the dimensions of dependences, ``cluster`` an
address; ``term_files`` makes C of files of terms.
"""
