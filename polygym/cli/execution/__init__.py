"""Execution of long commands, and what they share.

======================  ===================================================================
``benching``            ``polygym bench``: one program, all contenders
``search_session``      ``polygym optimize`` and ``tune``
``term_search``         ``polygym optimize`` of a term: rewriting before the search
``sweep_session``       ``polygym sweep``
``export_session``      ``polygym export`` and ``apply``
``device_session``      ``polygym export`` and ``show`` for GPUs
``transcript_replay``   ``polygym replay`` of the transcript of a text session
``resolved_program``    the program, schedule and mapping that a command line asks for
======================  ===================================================================
"""
