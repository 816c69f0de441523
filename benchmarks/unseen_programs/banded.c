/* y = A x, repeated, with A's diagonals kept as columns of a flat array (n rows, 2*b+1 diagonals). */
void banded(int n, int b, int times, const double *a, double *x, double *y)
{
  int t, i, k;
#pragma scop
  for (t = 0; t < times; t++) {
    for (i = b; i < n - b; i++) {
      y[i] = 0.0;
      for (k = 0; k < 2 * b + 1; k++)
        y[i] += a[i * (2 * b + 1) + k] * x[i + k - b];
    }
    for (i = b; i < n - b; i++)
      x[i] = y[i] / (2 * b + 1);
  }
#pragma endscop
}
