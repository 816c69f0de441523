// n=12 m=5
void f(int n, int m, double A[n + m]) {
#pragma scop
  for (int i = 0; i < n || i < m; i++) A[i] = i;
#pragma endscop
}
