// n=9
void f(int n, double a[n], int c[1]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++) if (a[i] > 0.06) k++;
  c[0] = k;
#pragma endscop
}
