"""Optimised models for other programs: a C library without Python, and ONNX files.

``plan`` has the steps, places and constants of a library, ``c_text`` prints them as C, ``kernels``
makes their objects, and ``weights_file`` stores the constants. ``writing`` builds a library,
``onnx_file`` writes a checked ONNX file, and ``measuring`` runs what was written.
"""
