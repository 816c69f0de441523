// n=9
void f(double *restrict a, const float b[], double (*c)[5], int n, double *s) {
#pragma scop
  *s = 0;
  for (int i = 0; i < n; i++) { a[i] += b[i]; for (int j = 0; j < 5; j++) c[i][j] = a[i] * j; s[0] += a[i]; }
#pragma endscop
}
