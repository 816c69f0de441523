// n=9
#include <complex.h>
typedef float complex small;
void f(int n, double complex a[n], double complex b[n][n], small c[n], double x[n], float y,
       double complex *alpha, double complex sum[1]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    double complex t = a[i] * *alpha + 2 * I;
    for (int j = 0; j < n; j++) {
      t -= b[i][j] * conj(a[j]) * x[j];
      b[j][i] = x[i] - b[i][j] / 3;
    }
    a[i] = t;
    sum[0] += t;
    c[i] = y * c[i] * c[i] + (small)t;
    x[i] = creal(t) * cimag(c[i]) + cabs(a[i]);
    if (creal(a[i]) > 0 && a[i] != 1)
      a[i] = -a[i] + CMPLX(x[i], y);
  }
#pragma endscop
}
