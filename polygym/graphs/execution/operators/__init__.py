"""Loop bodies of the operators that are more than elementwise.

============  ==========================================================
``bodies``    bodies: what an operator computes, as statements of a nest
``products``  products of matrices and convolutions as bodies
============  ==========================================================
"""
