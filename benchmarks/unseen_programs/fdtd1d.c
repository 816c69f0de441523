/* Maxwell in one dimension, a medium with losses in its right half. */
void fdtd1d(int steps, int n, double *ex, double *hy, const double *ca, const double *cb)
{
#pragma scop
  for (int t = 0; t < steps; ++t) {
    ex[0] = 0.001 * t;
    for (int k = 1; k < n; ++k)
      ex[k] = ca[k] * ex[k] + 0.5 * cb[k] * (hy[k - 1] - hy[k]);
    for (int k = 0; k < n - 1; ++k)
      hy[k] = hy[k] + 0.5 * (ex[k] - ex[k + 1]);
  }
#pragma endscop
}
