// n=12
#define MAX(a,b) ((a) > (b) ? (a) : (b))
#include <math.h>
#include <float.h>
void f(int n, float A[n], float r[4]) {
  float m = -FLT_MAX, w = FLT_MAX, p = 1, q = 0;
#pragma scop
  for (int i = 0; i < n; i++) { m = MAX(m, A[i]); w = fminf(w, A[i]); p *= A[i]; if (A[i] > q) q = A[i]; }
  r[0] = m; r[1] = w; r[2] = p; r[3] = q;
#pragma endscop
}
