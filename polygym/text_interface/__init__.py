"""Text interface: programs transformed and measured by lines of text, for language models.

A session takes lines (``commands``, ``help_text``) and replies with texts (``session``,
``replies``). ``program_text`` prints loops, ``dependence_text`` dependences, ``step_lists`` legal
steps and repairs; ``judgement`` is the time or the score of a program. ``transcripts`` saves and
replays sessions, ``hill_climbing`` is an agent that speaks this text, and ``server`` offers the
same as tools to other processes.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.text_interface.commands import parse_command
    from polygym.text_interface.hill_climbing import climb
    from polygym.text_interface.session import (
        Budget,
        Reply,
        ReplyStatus,
        SessionOptions,
        TextSession,
        open_session,
    )
    from polygym.text_interface.transcripts import replay_transcript, transcript_of
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "Budget",
    "Reply",
    "ReplyStatus",
    "SessionOptions",
    "TextSession",
    "climb",
    "open_session",
    "parse_command",
    "replay_transcript",
    "transcript_of",
]
