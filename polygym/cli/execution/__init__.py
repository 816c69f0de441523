"""Execution of long commands: ``benching``, ``search_session``, ``sweep_session``, ``export_session``.

``resolved_program`` says of which program, schedule and mapping a command line speaks.
"""
