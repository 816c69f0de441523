/* A hydro fragment and a first difference, repeated as a benchmark does. */
void hydro1(int loops, int n, double q, double r, double t, double *x, double *y, double *z)
{
  int l, k;
#pragma scop
  for (l = 1; l <= loops; l++) {
    for (k = 0; k < n; k++)
      x[k] = q + y[k] * (r * z[k + 10] + t * z[k + 11]);
    for (k = 0; k < n - 1; k++)
      y[k] = 0.5 * (x[k + 1] - x[k]);
  }
#pragma endscop
}
