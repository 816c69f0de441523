"""The example for KubeRay is a RayCluster, and gives every worker a measuring slot of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")

MANIFEST = Path(__file__).parents[4] / "examples" / "raycluster.yaml"
SCHEMA = json.loads(Path(__file__).with_name("raycluster.schema.json").read_text())


@pytest.fixture
def manifest() -> Any:
    return yaml.safe_load(MANIFEST.read_text())


def test_it_fits_the_schema(manifest: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(manifest)


def _of_another_kind(document: Any) -> None:
    document["kind"] = "RayJob"


def _without_workers(document: Any) -> None:
    document["spec"]["workerGroupSpecs"] = []


def _with_a_number_to_start_with(document: Any) -> None:
    document["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] = 0


def _with_part_of_a_core(document: Any) -> None:
    (container,) = document["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"]
    container["resources"]["limits"]["cpu"] = "500m"


@pytest.mark.parametrize(
    "spoil",
    [_of_another_kind, _without_workers, _with_a_number_to_start_with, _with_part_of_a_core],
)
def test_what_does_not_fit_is_found(manifest: Any, spoil: Callable[[Any], None]) -> None:
    spoil(manifest)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(manifest)


def test_every_worker_has_one_slot_and_a_whole_machine(manifest: Any) -> None:
    (group,) = manifest["spec"]["workerGroupSpecs"]
    # KubeRay hands the text to a shell: the quotes around it are part of it.
    assert json.loads(json.loads(group["rayStartParams"]["resources"])) == {"measuring": 1}
    (container,) = group["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    terms = group["template"]["spec"]["affinity"]["podAntiAffinity"]
    (term,) = terms["requiredDuringSchedulingIgnoredDuringExecution"]
    labels = group["template"]["metadata"]["labels"]
    assert term["labelSelector"]["matchLabels"] == labels
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert "resources" not in manifest["spec"]["headGroupSpec"]["rayStartParams"]
