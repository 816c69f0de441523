"""What a comprehension computes, against what it means point by point."""

import numpy as np
import pytest

from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.tc.comprehension import Comprehension
from tests.tc.oracle.interpreter import interpret
from tests.tc.programs import CONSTANTS, TEXTS, arguments, definition_of, sizes_for


@pytest.mark.rotates
@pytest.mark.parametrize("mapping", [SEQUENTIAL_MAPPING, DEFAULT_MAPPING], ids=str)
@pytest.mark.parametrize("name", TEXTS)
def test_programs_compute_what_they_say(name, mapping):
    definition, constants = definition_of(name), CONSTANTS.get(name, {})
    given = arguments(definition, sizes_for(name, definition), constants)
    expected = interpret(definition, given, constants)
    before = {key: value.copy() for key, value in given.items()}
    returned = Comprehension(definition, mapping)(*given.values())
    results = returned if isinstance(returned, tuple) else (returned,)
    for output, result in zip(definition.outputs, results, strict=True):
        assert result.shape == expected[output.name].shape
        np.testing.assert_allclose(result, expected[output.name], rtol=1e-5)
    assert all((given[key] == value).all() for key, value in before.items())
