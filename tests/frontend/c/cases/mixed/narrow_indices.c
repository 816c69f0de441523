// n=6
void f(int n, double x[n], long idx[n], unsigned short u[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { u[i] = idx[i] * 40000; x[i] = x[idx[n - 1 - i]] + (u[i] > 1000 ? -u[i] : u[i]); }
#pragma endscop
}
