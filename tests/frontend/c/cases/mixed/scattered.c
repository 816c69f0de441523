// n=9
void f(int n, int x[n], int y[n]) {
  int t, u;
#pragma scop
  for (int i = 0; i < n; i++) { t = x[i]; x[i] = y[i]; y[i] = t; u = t > 3 ? i : 0; x[u] += 1; }
#pragma endscop
}
