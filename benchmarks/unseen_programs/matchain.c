/* Cheapest order of a chain of products of matrices. */
void matchain(int n, double d[n + 1], double cost[n][n])
{
  int len, i, k;
#pragma scop
  for (i = 0; i < n; i++)
    cost[i][i] = 0.0;
  for (len = 1; len < n; len++)
    for (i = 0; i < n - len; i++) {
      cost[i][i + len] = 1e30;
      for (k = i; k < i + len; k++) {
        double c = cost[i][k] + cost[k + 1][i + len] + d[i] * d[k + 1] * d[i + len + 1];
        if (c < cost[i][i + len])
          cost[i][i + len] = c;
      }
    }
#pragma endscop
}
