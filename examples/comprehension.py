"""An operator of a network by its indices: defined, and called with arrays of NumPy.

python examples/comprehension.py
"""

import numpy as np

import polygym.tc

TEXT = """
def perceptron(float(B, M) I, float(N, M) W, float(N) bias) -> (O) {
    O(b, n) +=! I(b, m) * W(n, m)
    O(b, n) = fmax(O(b, n) + bias(n), 0.0f)
}
"""


def main() -> None:
    perceptron = polygym.tc.define(TEXT)
    random = np.random.default_rng(0)
    inputs = random.standard_normal((64, 128), np.float32)
    weights = random.standard_normal((32, 128), np.float32)
    bias = random.standard_normal(32, np.float32)
    outputs = perceptron(inputs, weights, bias)
    expected = np.maximum(inputs @ weights.T + bias, 0)
    assert np.allclose(outputs, expected, atol=1e-4)
    print("a perceptron as NumPy has it, of shape", outputs.shape)
    product = polygym.tc.define("tc:matmul")
    print("shape of a product of the library:", product(inputs, weights.T.copy()).shape)


if __name__ == "__main__":
    main()
