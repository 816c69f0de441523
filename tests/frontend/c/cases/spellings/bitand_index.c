// n=16
void f(int n, double a[n], double b[8]) {
#pragma scop
  for (int i = 0; i < n; i++) { if (i & 1) a[i] = 1; b[i & 7] += a[i]; a[i] += b[(i >> 1) & 3]; if ((i & 3) == 2) a[i] = 0; }
#pragma endscop
}
