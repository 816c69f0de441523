// n=9
void f(int n, int m, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { if (!i) a[i] = 1; if (i) a[i] = 2; if (n - 1 - i) a[i] += 3; if (m) a[i] *= 2; }
  for (int i = n - 1; i; i--) a[i] += 1;
#pragma endscop
}
