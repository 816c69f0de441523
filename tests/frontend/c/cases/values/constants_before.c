// n=9
void f(int n, double a[n], int c[2]) {
  int k, m; 
  k = 7; m = n;
#pragma scop
  for (int i = 0; i < n; i++) { if (a[i] > 0.05) k++; if (a[i] < 0.07) m--; }
  c[0] = k; c[1] = m;
#pragma endscop
}
