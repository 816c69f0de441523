// n=40,m=3,k=20
static float buffer[40][50];
double h[8];
void f(int n, int m, int k, double x[n], double y[k]) {
#pragma scop
  for (int t = 0; t < m; t++)
    h[t] = 1.0 / (t + 1);
  for (int i = 0; i < n; i++)
    for (int j = i; j < k; j++)
      buffer[i][j] = x[j] * h[i % 3];
  for (int i = 0; i < n - m; i++)
    for (int t = 0; t < m; t++)
      x[i] += h[t] * x[i + t];
  for (int i = 0; i < k; i++)
    y[i] = x[i];
#pragma endscop
}
