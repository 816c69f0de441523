"""Default decisions without a search: schedule, storage variant and splitting.

``schedule_choice`` and ``storage_choice`` choose by the scores of ``weights``,
``code_choice`` confirms them by estimates of code, and keeps the source where that seems as fast,
``threaded_source`` is the source's order with its outer loop in threads,
``overlapped_source`` the same in overlapped tiles, ``interchanged_source`` with loops interchanged,
``program_recipes`` changes programs, ``storage_cache`` remembers choices.
"""
