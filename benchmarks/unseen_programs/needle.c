/* Global alignment of two sequences with a table of similarities and a constant penalty. */
int maximum(int a, int b, int c)
{
  int k;
  k = a >= b ? a : b;
  return k >= c ? k : c;
}

void needle(int n, int m, int score[n + 1][m + 1], int similarity[n + 1][m + 1], int penalty)
{
#pragma scop
  for (int i = 0; i <= n; i++)
    score[i][0] = -i * penalty;
  for (int j = 0; j <= m; j++)
    score[0][j] = -j * penalty;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++)
      score[i][j] = maximum(score[i - 1][j - 1] + similarity[i][j],
                            score[i][j - 1] - penalty, score[i - 1][j] - penalty);
#pragma endscop
}
