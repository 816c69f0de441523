/* A convolution of images with channels last, with a bias. */
void conv_bias(int b, int n, int m, int s, int f, int t, float in[b][n + s - 1][m + s - 1][f],
               float w[s][s][f][t], float bias[t], float out[b][n][m][t]) {
#pragma scop
  for (int p = 0; p < b; p++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        for (int o = 0; o < t; o++) {
          float sum = bias[o];
          for (int u = 0; u < s; u++)
            for (int v = 0; v < s; v++)
              for (int c = 0; c < f; c++)
                sum += in[p][i + u][j + v][c] * w[u][v][c][o];
          out[p][i][j][o] = sum;
        }
#pragma endscop
}
