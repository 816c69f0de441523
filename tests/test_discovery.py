"""Importing polygym registers the environments, whatever else imports what in which order."""

import subprocess
import sys
from pathlib import Path

import pytest

REGISTERED = "'polygym/Schedule-v0' in gymnasium.registry"

PROGRAMS = {
    "a search for gymnasium is no import of it": f"""
import polygym, importlib.util
assert importlib.util.find_spec("gymnasium").name == "gymnasium"
importlib.util.find_spec("gymnasium")
import gymnasium
assert {REGISTERED}
""",
    "an import that fails can be repeated": f"""
import polygym, sys
sys.modules["numpy"] = None
try:
    import gymnasium
except ImportError:
    del sys.modules["numpy"]
import gymnasium
assert {REGISTERED}
""",
    "a part of gymnasium is imported first": f"""
import polygym
from gymnasium.spaces import Box
import gymnasium
assert {REGISTERED}
""",
    "threads import it at once": f"""
import polygym, threading
def work():
    import gymnasium
    found.append({REGISTERED})
found = []
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert found == [True] * 4
""",
    "polygym is imported twice": f"""
import polygym, gymnasium, importlib
importlib.reload(polygym)
assert {REGISTERED}
""",
    "nothing is left behind": """
import polygym, sys, gymnasium, inspect
assert not [finder for finder in sys.meta_path if "polygym" in type(finder).__module__]
assert gymnasium.__spec__.loader is gymnasium.__loader__
assert inspect.getsource(gymnasium)
""",
    "a specification from another process": """
import gymnasium, sys
text = gymnasium.make("polygym:polygym/Explore-v0", kernel="mvt", reward="static").spec.to_json()
import subprocess
there = (
    "import gymnasium, polygym, sys; "
    "spec = gymnasium.envs.registration.EnvSpec.from_json(sys.argv[1]); "
    "print(gymnasium.make(spec).reset(seed=0)[1]['kernel'])"
)
assert subprocess.check_output([sys.executable, "-c", there, text], text=True) == "mvt\\n"
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_registration(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAMS[name]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
