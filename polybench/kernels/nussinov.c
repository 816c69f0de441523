/* Nussinov's prediction of how an RNA strand folds: table[i][j] is the largest number of matching
   base pairs in seq[i..j]: the best of leaving out an end, pairing both ends, or splitting at k.
   The bases are coded 0 to 3 such that the two of a pair add up to 3. */
#define PAIRED(left, right) ((left) + (right) == 3 ? 1 : 0)
#define LARGER(left, right) ((left) >= (right) ? (left) : (right))

void init_nussinov(int n, int seq[n], int table[n][n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    seq[i] = (i + 1) % 4;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      table[i][j] = 0;
#pragma endscop
}

void kernel_nussinov(int n, int seq[n], int table[n][n])
{
#pragma scop
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      if (j - 1 >= 0)
        table[i][j] = LARGER(table[i][j], table[i][j - 1]);
      if (i + 1 < n)
        table[i][j] = LARGER(table[i][j], table[i + 1][j]);

      if (j - 1 >= 0 && i + 1 < n) {
        /* neighbours cannot pair with each other */
        if (i < j - 1)
          table[i][j] = LARGER(table[i][j], table[i + 1][j - 1] + PAIRED(seq[i], seq[j]));
        else
          table[i][j] = LARGER(table[i][j], table[i + 1][j - 1]);
      }

      for (int k = i + 1; k < j; k++)
        table[i][j] = LARGER(table[i][j], table[i][k] + table[k + 1][j]);
    }
#pragma endscop
}
