/* [n] -> { S0[i, j] -> [-i, j, 0, 0, 0]; S1[i, j] -> [-i, j, 1, 0, 0]; S2[i, j] -> [-i, j, 2, 0, 0]; S3[i, j] -> [-j + 1, j, 2, 1, 0]; S4[i, j, k] -> [-i, j, 2, 0, k] } */

void kernel_nussinov(int n, int seq[n], int table[n][n])
{
  for (long c0 = -n + 2; c0 <= 0; c0 += 1) {
    for (long c1 = -c0 + 1; c1 < n; c1 += 1) {
      table[-c0][c1] = table[-c0][c1] >= table[-c0][c1 - 1] ? table[-c0][c1] : table[-c0][c1 - 1];
      table[-c0][c1] = table[-c0][c1] >= table[-c0 + 1][c1] ? table[-c0][c1] : table[-c0 + 1][c1];
      if (c0 + c1 >= 2) {
        table[-c0][c1] = table[-c0][c1] >= table[-c0 + 1][c1 - 1] + (seq[-c0] + seq[c1] == 3 ? 1 : 0) ? table[-c0][c1] : table[-c0 + 1][c1 - 1] + (seq[-c0] + seq[c1] == 3 ? 1 : 0);
      }
      for (long c2 = -c0 + 1; c2 < c1; c2 += 1) {
        table[-c0][c1] = table[-c0][c1] >= table[-c0][c2] + table[c2 + 1][c1] ? table[-c0][c1] : table[-c0][c2] + table[c2 + 1][c1];
      }
      if (c0 + c1 == 1) {
        table[-c0][-c0 + 1] = table[-c0][-c0 + 1] >= table[-c0 + 1][-c0] ? table[-c0][-c0 + 1] : table[-c0 + 1][-c0];
      }
    }
  }
}
