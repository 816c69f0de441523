void scalars_1(int n, int m, int p, double A[n][m], double B[n][m], double C[m][n], double D[n][p], double E[m][p])
{
  double t;
#pragma scop
  for (int i = 0; i < n; i++) {
    double s = 0.0;
    for (int j = 0; j < m; j++) {
      s += A[i][j];
    }
    s = 0.1 * s;
    double t = 0.0;
    for (int j = 0; j < m; j++) {
      double u = A[i][j] - s;
      t += u * u;
    }
    for (int j = 0; j < m; j++) {
      B[i][j] = (A[i][j] - s) / (1.0 + t);
    }
  }
  for (int k = 0; k < m; k++) {
    for (int l = 0; l < n; l++) {
      double s = 0.0;
      t = 0.0;
      for (int i1 = 0; i1 < p; i1++) {
        double u = D[l][i1] - E[k][i1];
        s += u * 0.5;
        t += u;
      }
      C[k][l] = s / (1.0 + s * s) + t;
    }
  }
#pragma endscop
}

void scalars_4(int n, int m, int p, int q, float A[n][m], float B[n][m][p], float C[n][p][m], float D[q][m], float E[q][m], int I[n][m])
{
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++) {
      float s = -1e30f;
      int t = 0;
      for (int k = 0; k < p; k++) {
        float u = fabsf(B[i][j][k] - C[i][k][j]);
        if (u > s) {
          s = u;
          t = k;
        }
      }
      A[i][j] = s;
      I[i][j] = t;
    }
  }
  for (int l = 0; l < m; l++) {
    float s = 0.0f;
    for (int i1 = q - 1; i1 >= 0; i1--) {
      s = 0.5f * s + 0.5f * D[i1][l];
      E[i1][l] = s;
    }
  }
#pragma endscop
}

void scalars_30(int n, int m, int p, double A[n][m], double B[n][m], double C[n][m], double D[m][n], double E[m][n], double F[m][n], double G[m][m][p], double H[m][m][p])
{
  double a[m];
  double s;
  double t;
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++) {
      s = B[i][j] - D[j][i];
      t = C[i][j] - s;
      if (t < 0.0) {
        t = 0.0;
      }
      a[j] = t;
    }
    for (int k = 1; k < m; k++) {
      a[k] = 0.5 * a[k - 1] + 0.5 * a[k];
    }
    for (int k = m - 1; k >= 0; k--) {
      A[i][k] = a[k];
    }
  }
  for (int i1 = 0; i1 < n; i1++) {
    for (int l = 0; l < m; l++) {
      double u = exp(-F[l][i1] * F[l][i1]);
      E[l][i1] = A[i1][l] + u;
    }
  }
  for (int j1 = 2; j1 < m - 2; j1++) {
    for (int k1 = 2; k1 < m - 2; k1++) {
      for (int l1 = 2; l1 < p - 2; l1++) {
        double u = 0.1667 * (G[j1 + 2][k1][l1] - G[j1 - 2][k1][l1] + G[j1 + 1][k1][l1 - 1] - G[j1 - 1][k1][l1 - 1] + G[j1 + 1][k1][l1 + 1] - G[j1 - 1][k1][l1 + 1]);
        double v = 0.1667 * (G[j1][k1 + 2][l1] - G[j1][k1 - 2][l1] + G[j1 - 1][k1 + 1][l1] - G[j1 - 1][k1 - 1][l1] + G[j1 + 1][k1 + 1][l1] - G[j1 + 1][k1 - 1][l1]);
        s = 0.5 * (G[j1][k1][l1 + 2] - G[j1][k1][l1 - 2]);
        double w = u / (1.0 + v * v);
        H[j1][k1][l1] = s + w;
      }
    }
  }
#pragma endscop
}
