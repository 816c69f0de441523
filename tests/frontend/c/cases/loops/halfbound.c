// n=17
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n / 2; i++) { a[i] = a[n - 1 - i] + b[2 * i + 1]; }
  for (int i = n >> 1; i < n; i++) a[i] -= b[i / 2];
#pragma endscop
}
