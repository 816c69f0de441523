/* Shortest paths between all pairs of n nodes: after step k, path[i][j] is the length of the
   shortest way from i to j whose inner nodes are among 0, ..., k. */

void init_floyd_warshall(int n, int path[n][n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      path[i][j] = i * j % 7 + 1;
      /* no edge */
      if ((i + j) % 13 == 0 || (i + j) % 7 == 0 || (i + j) % 11 == 0)
        path[i][j] = 999;
    }
#pragma endscop
}

void kernel_floyd_warshall(int n, int path[n][n])
{
#pragma scop
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j]
                                                          : path[i][k] + path[k][j];
#pragma endscop
}
