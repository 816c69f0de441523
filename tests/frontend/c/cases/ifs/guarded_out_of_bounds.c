// n=9
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) if (a[i] < 0.0) b[i + 1] = 1;
#pragma endscop
}
