/* Longest common subsequence of two strings, the whole table. */
void lcs(int n, int m, const char *a, const char *b, unsigned short len[n + 1][m + 1])
{
#pragma scop
  for (int i = 0; i <= n; i++)
    len[i][0] = 0;
  for (int j = 0; j <= m; j++)
    len[0][j] = 0;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      if (a[i - 1] == b[j - 1])
        len[i][j] = len[i - 1][j - 1] + 1;
      else
        len[i][j] = len[i - 1][j] > len[i][j - 1] ? len[i - 1][j] : len[i][j - 1];
    }
#pragma endscop
}
