"""Export of models as ONNX files."""

__all__: list[str] = []
