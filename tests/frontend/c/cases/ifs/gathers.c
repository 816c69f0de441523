// n=9
void f(int n, int ix[n], double x[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) y[i] += x[ix[i]];
  for (int i = 0; i < n; i++) if (y[i] > 0.3) y[i] = x[ix[n - 1 - i]] * 2; 
#pragma endscop
}
