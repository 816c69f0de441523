// T=4 n=9
void f(int T, int n, double A[2][n]) {
  int cur = 0;
#pragma scop
  for (int t = 0; t < T; t++) { for (int i = 1; i < n - 1; i++) A[1 - cur][i] = (A[cur][i - 1] + A[cur][i + 1]) / 2; cur = 1 - cur; }
#pragma endscop
}
