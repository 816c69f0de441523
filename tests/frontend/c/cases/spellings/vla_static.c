// n=9 m=4
void f(int n, int m, double A[restrict static n][m], double B[static 3][m]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = B[0][j] + 1;
#pragma endscop
}
