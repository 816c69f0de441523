// no sizes
int n; double A[30][30]; double B[30];
void init(void);
int main() { int i, j, k; n = 12; for (i = 0; i < 30; i++) { B[i] = i; for (j = 0; j < 30; j++) A[i][j] = i * j % 7; }
#pragma scop
  for (k = 0; k < n; k++) { for (j = k + 1; j < n; j++) A[k][j] = A[k][j] / (A[k][k] + 10); for (i = k + 1; i < n; i++) for (j = k + 1; j < n; j++) A[i][j] = A[i][j] - A[i][k] * A[k][j]; }
#pragma endscop
}
