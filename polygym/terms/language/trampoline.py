"""Recursion without a limit: functions that are generators, and a loop that runs them.

Terms may be tens of thousands of nodes deep, which Python's own stack is not. A function that would
call itself is written as a generator instead: it yields the generator of the call and is sent what
that one returns.

    >>> def depth(nested):
    ...     found = 0
    ...     for one in nested:
    ...         found = max(found, (yield depth(one)))
    ...     return found + 1
    >>> run_trampoline(depth([[], [[]]]))
    3
"""

from collections.abc import Generator
from typing import Any, TypeVar

Value = TypeVar("Value")
Trampolined = Generator[Any, Any, Value]


def run_trampoline(call: Trampolined[Value]) -> Value:
    """Return what a generator returns, and whatever it calls; what one raises, its callers see."""
    stack: list[Trampolined[Any]] = [call]
    sent: Any = None
    raised: BaseException | None = None
    while stack:
        try:
            if raised is None:
                inner = stack[-1].send(sent)
            else:
                error, raised = raised, None
                inner = stack[-1].throw(error)
        except StopIteration as done:
            stack.pop()
            sent = done.value
        except BaseException as error:
            stack.pop()
            raised = error
        else:
            stack.append(inner)
            sent = None
    if raised is not None:
        raise raised
    result: Value = sent
    return result
