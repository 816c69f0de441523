/* The edit distance of two sequences, by dynamic programming. */
void edit_distance(int n, int m, int a[n], int b[m], int d[n + 1][m + 1]) {
#pragma scop
  for (int i = 0; i <= n; i++)
    d[i][0] = i;
  for (int j = 0; j <= m; j++)
    d[0][j] = j;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      int best = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
      best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
      d[i][j] = best;
    }
#pragma endscop
}
