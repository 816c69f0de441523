"""Diagrams of the documentation, written as SVG files: ``python -m docs.site.diagrams``.

Each ``diagram_NAME`` of this package draws one picture with the vocabulary of ``diagram_shapes``. A
test checks that the files in ``docs/images`` are what this script writes.
"""

from pathlib import Path

from docs.site import (
    diagram_architecture,
    diagram_beside_compilergym,
    diagram_comprehensions,
    diagram_cost_models,
    diagram_environments,
    diagram_exported_code,
    diagram_graphs,
    diagram_limit,
    diagram_mapping,
    diagram_measuring,
    diagram_pipeline,
    diagram_schedules,
    diagram_storage,
    diagram_terms,
    diagram_transformations,
)
from docs.site.diagram_shapes import Diagram

IMAGES = Path(__file__).parents[1] / "images"

DIAGRAMS: tuple[Diagram, ...] = (
    diagram_architecture.DIAGRAM,
    diagram_beside_compilergym.DIAGRAM,
    diagram_comprehensions.DIAGRAM,
    diagram_cost_models.DIAGRAM,
    diagram_environments.DIAGRAM,
    diagram_exported_code.DIAGRAM,
    diagram_graphs.DIAGRAM,
    diagram_limit.DIAGRAM,
    diagram_mapping.DIAGRAM,
    diagram_measuring.DIAGRAM,
    diagram_pipeline.DIAGRAM,
    diagram_schedules.DIAGRAM,
    diagram_storage.DIAGRAM,
    diagram_terms.DIAGRAM,
    diagram_transformations.DIAGRAM,
)


def write_diagrams(folder: Path = IMAGES) -> None:
    """Write all diagrams into a folder."""
    for diagram in DIAGRAMS:
        (folder / f"{diagram.name}.svg").write_text(diagram.svg(), encoding="utf-8")


if __name__ == "__main__":
    write_diagrams()
