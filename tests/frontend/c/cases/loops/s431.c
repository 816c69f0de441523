// n=16
void f(int n, double a[n], double b[n]) {
  int k1 = 1, k2 = 2, k = 2 * k1 - k2;
#pragma scop
  for (int i = 0; i < n; i++) a[i] = a[i + k] + b[i];
#pragma endscop
}
