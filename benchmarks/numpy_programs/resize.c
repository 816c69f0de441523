/* Bilinear interpolation of an image of bytes at given positions. */
void resize(int n, int m, int h, int w, unsigned char in[n][m], int row[h], int col[w], float fy[h],
            float fx[w], unsigned char out[h][w]) {
#pragma scop
  for (int i = 0; i < h; i++)
    for (int j = 0; j < w; j++) {
      float top = in[row[i]][col[j]] * (1.0f - fx[j]) + in[row[i]][col[j] + 1] * fx[j];
      float low = in[row[i] + 1][col[j]] * (1.0f - fx[j]) + in[row[i] + 1][col[j] + 1] * fx[j];
      out[i][j] = (unsigned char)(top * (1.0f - fy[i]) + low * fy[i] + 0.5f);
    }
#pragma endscop
}
