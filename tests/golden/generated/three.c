void random_1(int n, int steps, int m, double A[n], double B[n], double C[n], double D[m][m], double E[n][m][m])
{
#pragma scop
  for (int i = 0; i < steps; i++) {
    for (int j = 1; j < n - 1; j++) {
      B[j] = 0.5 * (A[j] + A[j - 1]);
    }
    for (int k = 1; k < n - 1; k++) {
      A[k] = 0.3333 * (B[k] + B[k - 1] + B[k + 1]);
    }
  }
  for (int l = 0; l < n; l++) {
    C[l] *= 0.75;
  }
  for (int i1 = 0; i1 < m; i1++) {
    for (int j1 = 0; j1 < m; j1++) {
      for (int l = 0; l < n; l++) {
        C[l] += D[i1][j1] * E[l][j1][i1];
      }
    }
  }
#pragma endscop
}

void random_2(int n, double A[n][n], double B[n], double C[n], double D[n], double E[n])
{
#pragma scop
  for (int i = 0; i < n; i++) {
    C[i] = 0.0;
    for (int j = 0; j < n; j++) {
      C[i] += A[i][j] * B[j];
      E[j] += D[i] * A[i][j];
    }
  }
#pragma endscop
}

void random_3(int n, int steps, double A[n][n][n])
{
#pragma scop
  for (int i = 0; i < steps; i++) {
    for (int j = 1; j < n - 1; j++) {
      for (int k = 1; k < n - 1; k++) {
        for (int l = 1; l < n - 1; l++) {
          A[j][k][l] = 0.1429 * (A[j][k][l] + A[j - 1][k][l] + A[j + 1][k][l] + A[j][k - 1][l] + A[j][k + 1][l] + A[j][k][l - 1] + A[j][k][l + 1]);
        }
      }
    }
  }
#pragma endscop
}
