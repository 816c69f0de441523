/* A matrix plus the sum of the hyperbolic tangents of its diagonal. */
#include <math.h>
void trace_tanh(int n, double a[n][n], double out[n][n]) {
#pragma scop
  double trace = 0.0;
  for (int i = 0; i < n; i++)
    trace += tanh(a[i][i]);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      out[i][j] = a[i][j] + trace;
#pragma endscop
}
