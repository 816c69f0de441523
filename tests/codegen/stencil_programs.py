"""Programs that go over grids, neighbours and windows: what tests run under random mappings."""

STENCIL_PROGRAMS = {
    "stencil_1d": """
void f(int t, int n, double A[n], double B[n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++)
      B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
    for (int i = 1; i < n - 1; i++)
      A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]);
  }
#pragma endscop
}
""",
    "stencil_3d": """
void f(int t, int n, float A[n][n][n], float B[n][n][n]) {
#pragma scop
  for (int s = 1; s <= t; s++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          B[i][j][k] = 0.125f * (A[i + 1][j][k] - 2.0f * A[i][j][k] + A[i - 1][j][k])
                     + 0.25f * (A[i][j + 1][k] + A[i][j - 1][k]) + A[i][j][k + 1] - A[i][j][k - 1];
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          A[i][j][k] = B[i][j][k];
  }
#pragma endscop
}
""",
    "ring": """
void f(int t, int n, double A[2][n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    A[(s + 1) % 2][0] = 0.5 * (A[s % 2][n - 1] + A[s % 2][0]);
    for (int i = 1; i < n; i++)
      A[(s + 1) % 2][i] = 0.5 * (A[s % 2][i - 1] + A[s % 2][i]);
  }
#pragma endscop
}
""",
    "torus": """
void f(int t, int n, double A[n][n], double B[n][n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        B[i][j] = 0.2 * (A[i][j] + A[i == 0 ? n - 1 : i - 1][j] + A[i == n - 1 ? 0 : i + 1][j]
                       + A[i][j == 0 ? n - 1 : j - 1] + A[i][j == n - 1 ? 0 : j + 1]);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        A[i][j] = B[i][j];
  }
#pragma endscop
}
""",
    "fields": """
void f(int t, int n, int m, double ex[n][m], double ey[n][m], double hz[n][m], double p[t]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int j = 0; j < m; j++)
      ey[0][j] = p[s];
    for (int i = 1; i < n; i++)
      for (int j = 0; j < m; j++)
        ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
    for (int i = 0; i < n; i++)
      for (int j = 1; j < m; j++)
        ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
    for (int i = 0; i < n - 1; i++)
      for (int j = 0; j < m - 1; j++)
        hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
  }
#pragma endscop
}
""",
    "image": """
void f(int h, int w, int r, float O[h][w], float I[h + r][w + r], float K[r][r]) {
#pragma scop
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      O[y][x] = 0.0f;
      for (int a = 0; a < r; a++)
        for (int b = 0; b < r; b++)
          O[y][x] += I[y + a][x + b] * K[a][b];
      O[y][x] = O[y][x] > 1.0f ? O[y][x] : 1.0f - O[y][x];
    }
#pragma endscop
}
""",
    "grouped": """
void f(int g, int c, int w, int r, float O[g][c][w], float I[g][c][w + r], float K[g][c][c][r]) {
#pragma scop
  for (int a = 0; a < g; a++)
    for (int f = 0; f < c; f++)
      for (int x = 0; x < w; x++) {
        O[a][f][x] = 0.0f;
        for (int b = 0; b < c; b++)
          for (int q = 0; q < r; q++)
            O[a][f][x] += I[a][b][x + q] * K[a][f][b][q];
      }
#pragma endscop
}
""",
    "sweeps": """
void f(int t, int n, double u[n][n], double v[n][n], double p[n][n]) {
#pragma scop
  for (int s = 1; s <= t; s++) {
    for (int i = 1; i < n - 1; i++) {
      v[0][i] = 1.0;
      p[i][0] = 0.0;
      for (int j = 1; j < n - 1; j++)
        p[i][j] = 0.7 / (0.3 * p[i][j - 1] + 2.0);
      for (int j = n - 2; j >= 1; j--)
        v[j][i] = p[i][j] * v[j + 1][i] + u[j][i - 1];
    }
    for (int i = 1; i < n - 1; i++)
      for (int j = n - 2; j >= 1; j--)
        u[i][j] = p[i][j] * u[i][j + 1] + v[i - 1][j];
  }
#pragma endscop
}
""",
}
