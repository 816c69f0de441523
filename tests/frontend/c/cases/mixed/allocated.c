// n=9
#include <stdlib.h>
void f(int n, double x[n]) {
  double *t = (double *)malloc(n * sizeof(double)), (*u)[4] = malloc(n * sizeof *u);
  for (int i = 0; i < n; i++) { t[i] = i * 0.5; u[i][0] = 0; u[i][1] = 1; u[i][2] = 2; u[i][3] = 3; }
#pragma scop
  for (int i = 0; i < n; i++) { double w[3] = {1, x[i], 2.5}; x[i] += t[i] * w[i % 3] + u[i][i & 3]; }
#pragma endscop
  free(t);
}
