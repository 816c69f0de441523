"""Registration of the environments by ``import polygym``, without importing Gymnasium.

Half of what uses polygym (the command line, the worker processes) has no need of Gymnasium, whose
import takes longer than all the rest. So the environments are registered at once if it has been
imported, and otherwise when it is: a finder at the front of ``sys.meta_path`` waits for that one
name, lets the usual finders do their work, and appends the registration to the module's execution.
"""

import importlib.util
import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType

_GYMNASIUM = "gymnasium"

_UPPER_LAYER_ENVIRONMENTS = MappingProxyType(
    {
        "polygym/Rewrite-v0": "polygym.terms.envs.rewrite:RewriteEnv",
        "polygym/Saturate-v0": "polygym.graphs.envs.saturate_env:SaturateEnv",
        "polygym/Substitute-v0": "polygym.graphs.envs.substitute_env:SubstituteEnv",
    }
)
"""The environments that stand above ``polygym.envs``, and where Gymnasium finds them."""


def register_environments() -> None:
    """Register the environments with Gymnasium, now or as soon as it is imported."""
    if _GYMNASIUM in sys.modules:
        _register()
    elif not any(isinstance(finder, _GymnasiumImportFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _GymnasiumImportFinder())


class _GymnasiumImportFinder(MetaPathFinder):
    """Finds nothing itself, but sees which module is looked for.

    It waits until the module has been *executed*: many a library looks for another one only to
    know whether it is installed, or fails to import it at the first attempt.
    """

    def __init__(self) -> None:
        self._here = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's own description, with the registration behind its execution."""
        if fullname != _GYMNASIUM or getattr(self._here, "is_asking_others", False):
            return None
        self._here.is_asking_others = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._here.is_asking_others = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _register()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register() -> None:
    from polygym.envs.registration import register_env_ids

    register_env_ids(_UPPER_LAYER_ENVIRONMENTS)
