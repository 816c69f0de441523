"""YAML as people write it in experiments: every entry once, and ``1e-4`` is a number.

PyYAML goes by YAML 1.1, in which two things surprise: of an entry that stands there twice the last
one counts, silently, and a number needs a point before its exponent, so that ``1e-4`` is a
text. Here the first is refused, and the second is the number that it looks like, as YAML 1.2 has
it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from polygym.errors import InputError

_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$")
_MERGE_TAG = "tag:yaml.org,2002:merge"


def load_yaml(text: str) -> Any:
    """Return what a text in YAML says.

    Raises:
        InputError: it is none, or an entry stands there twice.
    """
    import yaml

    try:
        return yaml.load(text, Loader=_loader())
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"expected YAML, found: {' '.join(str(error).split())}") from None
    except ValueError as error:  # a date that is none, a number of thousands of digits
        raise InputError(f"expected YAML, found a value that is none: {error}") from None


@cache
def _loader() -> Any:
    """Return the class that reads, which can only be made where PyYAML is installed."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Makes plain values only, as the one that it is made of."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            """Return the entries, none of which stands there twice."""
            seen: set[str] = set()
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE_TAG:
                    if key.value in seen:
                        place = f"line {key.start_mark.line + 1}"
                        raise InputError(f"{place}: expected {key.value} once, found it twice")
                    seen.add(key.value)
            result: dict[Any, Any] = super().construct_mapping(node, deep)
            return result

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789"))
    return Loader
