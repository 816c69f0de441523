// n=9
void f(int n, double *a, double *b) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = b[i + 1] + b[2 * i];
#pragma endscop
}
