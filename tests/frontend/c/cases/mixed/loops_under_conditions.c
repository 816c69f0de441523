// n=8
void f(int n, double a[n], double b[n], int flag) {
#pragma scop
  if (flag) { for (int i = 0; i < n; i++) a[i] = b[i]; } else { for (int i = 0; i < n; i++) b[i] = a[i]; }
  if (a[0] > b[n - 1]) for (int i = 0; i < n; i++) { b[i] += 1; if (b[i] > a[n - 1 - i]) a[0] += b[i]; }
#pragma endscop
}
