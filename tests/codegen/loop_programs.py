"""Programs whose loops meet the mapping in every shape: what tests run under random mappings."""

MORE_PROGRAMS = {
    "updates": """
void f(int n, int m, int I[n], int H[n], double x[n], double A[n][m], double B[n][m]) {
  int last;
#pragma scop
  last = 0;
  for (int i = 0; i < n; i++) {
    H[I[i] % n] += 1;
    if (I[i] % n > i) x[i + 1] = x[i] * 0.5;
    if (x[i] > 1.0) H[last++] = i;
    for (int j = 0; j < m; j++)
      A[I[i] % n][j] += B[i][j];
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      if (I[j * n % n] % m > j && A[i][j] > 1.0) B[i][j + 1] = A[i][j];
#pragma endscop
}
""",
    "stride_two": """
void f(int n, double A[2 * n + 1], double B[n], long S[n], int I[2 * n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    B[i] = A[2 * i] * 0.5 + A[2 * i + 1];
  for (int i = 0; i < n; i++)
    A[2 * i + 1] = B[n - 1 - i] - A[2 * i];
  for (int i = n - 1; i >= 0; i--)
    S[i] = I[2 * i] - 3L * I[2 * n - 1 - i];
#pragma endscop
}
""",
    "triangle_solve": """
void f(int n, int m, double L[n][n], double X[n][m]) {
#pragma scop
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < i; k++)
        X[i][j] = X[i][j] - L[i][k] * X[k][j];
      X[i][j] = X[i][j] / L[i][i];
    }
#pragma endscop
}
""",
    "symmetric": """
void f(int m, int n, double C[m][n], double A[m][m], double B[m][n]) {
  double temp;
#pragma scop
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      temp = 0.0;
      for (int k = 0; k < i; k++) {
        C[k][j] += 1.5 * B[i][j] * A[i][k];
        temp += B[k][j] * A[i][k];
      }
      C[i][j] = 1.2 * C[i][j] + 1.5 * B[i][j] * A[i][i] + 1.5 * temp;
    }
#pragma endscop
}
""",
    "paths": """
void f(int n, int p[n][n]) {
#pragma scop
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        p[i][j] = p[i][j] < p[i][k] + p[k][j] ? p[i][j] : p[i][k] + p[k][j];
#pragma endscop
}
""",
    "pairing": """
#define max(a, b) ((a) >= (b) ? (a) : (b))
void f(int n, int table[n][n], int seq[n]) {
#pragma scop
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      if (j - 1 >= 0)
        table[i][j] = max(table[i][j], table[i][j - 1]);
      if (i + 1 < n)
        table[i][j] = max(table[i][j], table[i + 1][j]);
      if (i < j - 1)
        table[i][j] = max(table[i][j], table[i + 1][j - 1] + (seq[i] + seq[j] == 60 ? 1 : 0));
      for (int k = i + 1; k < j; k++)
        table[i][j] = max(table[i][j], table[i][k] + table[k + 1][j]);
    }
#pragma endscop
}
""",
    "statistics": """
void f(int n, int m, double data[n][m], double corr[m][m], double mean[m], double dev[m]) {
#pragma scop
  for (int j = 0; j < m; j++) {
    mean[j] = 0.0;
    for (int i = 0; i < n; i++)
      mean[j] += data[i][j];
    mean[j] /= 3.5;
  }
  for (int j = 0; j < m; j++) {
    dev[j] = 0.0;
    for (int i = 0; i < n; i++)
      dev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
    dev[j] = sqrt(dev[j]) <= 0.1 ? 1.0 : sqrt(dev[j]);
  }
  for (int i = 0; i < m - 1; i++) {
    corr[i][i] = 1.0;
    for (int j = i + 1; j < m; j++) {
      corr[i][j] = 0.0;
      for (int k = 0; k < n; k++)
        corr[i][j] += data[k][i] * data[k][j] / dev[j];
      corr[j][i] = corr[i][j];
    }
  }
#pragma endscop
}
""",
    "calls": """
void f(int n, double A[n][n], float F[n], double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    x[i] = exp(-x[i]) + fabs(x[i] - 1.0);
    for (int j = 0; j < n; j++)
      A[i][j] = pow(A[i][j], 1.5) + x[i] * sqrt(A[j][i] > 0.0 ? A[j][i] : 1.0);
    F[i] = sqrtf(F[i]) + fabsf(F[i] - 1.0f) * (float)i;
  }
#pragma endscop
}
""",
    "arms": """
void f(int n, int m, double A[n][m], float F[n][m], long S[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      A[i][j] = A[i][j] > 1.0 ? sqrt(A[i][j] - 1.0) : fabs(A[i][j]) + floor(3.0 * A[i][j]);
      F[i][j] = fabsf(F[i][j]) < A[i][j] ? fminf(F[i][j], 0.f) : (F[i][j] > 0 ? sqrtf(F[i][j]) : i);
      S[i][j] = S[i][j] > j ? labs(S[i][j] - 5) : (A[i][j] > 2.0 ? i : -j);
    }
#pragma endscop
}
""",
    "fused": """
void f(int n, double A[n], double B[n], double C[n], int I[n], long s) {
#pragma scop
  for (int i = 1; i < n; i++) {
    A[i] = B[i] * 2.0;
    C[i] = A[i] + A[i - 1];
    B[i] = C[i - 1] * (i % 3 == 0 ? 1.0 : 0.5);
    I[i] = I[i - 1] / 3 + I[i] * i + s;
  }
#pragma endscop
}
""",
    "block_scalar": """
void f(int n, int m, double A[n][m], double B[n][m], double v[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    double sum = 0.25;
    for (int j = 0; j < m; j++) {
      double d = A[i][j] - B[i][j];
      sum += d * d;
      B[i][j] = sum;
    }
    v[i] = sum;
  }
#pragma endscop
}
""",
    "two_products": """
void f(int n, double T[n][n], double A[n][n], double B[n][n], double C[n][n], double D[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      T[i][j] = 0.0;
      for (int k = 0; k < n; k++)
        T[i][j] += 1.5 * A[i][k] * B[k][j];
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      D[i][j] *= 1.2;
      for (int k = 0; k < n; k++)
        D[i][j] += T[i][k] * C[k][j];
    }
#pragma endscop
}
""",
    "buffered": """
void f(int r, int q, int p, double A[r][q][p], double C[p][p], double sum[p]) {
#pragma scop
  for (int a = 0; a < r; a++)
    for (int b = 0; b < q; b++) {
      for (int c = 0; c < p; c++) {
        sum[c] = 0.0;
        for (int d = 0; d < p; d++)
          sum[c] += A[a][b][d] * C[d][c];
      }
      for (int c = 0; c < p; c++)
        A[a][b][c] = sum[c];
    }
#pragma endscop
}
""",
    "integer_matrix": """
void f(int n, int C[n][n], int A[n][n], long B[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      for (int j = i; j < n; j++)
        C[i][j] += A[i][k] * (int)B[k][j] - (A[k][j] ^ (i + 3 * j)) + (B[i][j] & 7);
#pragma endscop
}
""",
    "triangular_sum": """
void f(int n, int m, double C[n][m], double A[n][n][n], double B[n][n][m], double s[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    s[i] = A[i][0][i] * 0.5;
    for (int j = 0; j < m; j++)
      for (int k = 0; k < n; k++)
        for (int l = i; l < k; l++)
          C[i][j] += A[k][i][l] * B[k][l][j] + s[i];
  }
#pragma endscop
}
""",
    "triangle_times": """
void f(int n, int m, double A[n][n], double B[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      for (int k = i + 1; k < n; k++)
        B[i][j] += A[k][i] * B[k][j];
      B[i][j] *= 1.5;
    }
#pragma endscop
}
""",
    "triangle_solved": """
void f(int n, int m, float A[n][n], float B[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      for (int j = 0; j < m; j++)
        B[i][j] -= A[i][k] * B[k][j];
#pragma endscop
}
""",
    "cholesky": """
void f(int n, double A[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= A[j][j];
    }
    for (int k = 0; k < i; k++)
      A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = sqrt(A[i][i]);
  }
#pragma endscop
}
""",
    "orthogonal": """
void f(int n, int m, double A[m][n], double R[n][n], double Q[m][n]) {
  double norm;
#pragma scop
  for (int k = 0; k < n; k++) {
    norm = 0.0;
    for (int i = 0; i < m; i++)
      norm += A[i][k] * A[i][k];
    R[k][k] = norm + 1.0;
    for (int i = 0; i < m; i++)
      Q[i][k] = A[i][k] / R[k][k];
    for (int j = k + 1; j < n; j++) {
      R[k][j] = 0.0;
      for (int i = 0; i < m; i++)
        R[k][j] += Q[i][k] * A[i][j];
      for (int i = 0; i < m; i++)
        A[i][j] = A[i][j] - Q[i][k] * R[k][j];
    }
  }
#pragma endscop
}
""",
    "one_side": """
void f(int n, double L[n][n], double x[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++)
      x[i] -= L[i][j] * x[j];
    x[i] = x[i] / L[i][i];
  }
#pragma endscop
}
""",
}
