// n=16
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = n - 2; i >= 0; i--) { a[i + 1] = a[i] + b[i]; }
#pragma endscop
}
