/* A 5 by 5 binomial filter on an image of bytes, in two passes. */
void blur_bytes(int n, int m, unsigned char in[n][m], unsigned short mid[n][m - 4],
                unsigned char out[n - 4][m - 4]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m - 4; j++)
      mid[i][j] = in[i][j] + 4 * in[i][j + 1] + 6 * in[i][j + 2] + 4 * in[i][j + 3] + in[i][j + 4];
  for (int i = 0; i < n - 4; i++)
    for (int j = 0; j < m - 4; j++)
      out[i][j] = (mid[i][j] + 4 * mid[i + 1][j] + 6 * mid[i + 2][j] + 4 * mid[i + 3][j] +
                   mid[i + 4][j] + 128) >> 8;
#pragma endscop
}
