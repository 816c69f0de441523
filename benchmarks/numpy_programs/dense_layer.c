/* A fully connected layer: product, bias and maximum with zero. */
void dense_layer(int b, int n, int m, float in[b][n], float w[n][m], float bias[m], float out[b][m]) {
#pragma scop
  for (int i = 0; i < b; i++)
    for (int j = 0; j < m; j++)
      out[i][j] = bias[j];
  for (int i = 0; i < b; i++)
    for (int k = 0; k < n; k++)
      for (int j = 0; j < m; j++)
        out[i][j] += in[i][k] * w[k][j];
  for (int i = 0; i < b; i++)
    for (int j = 0; j < m; j++)
      out[i][j] = out[i][j] < 0.0f ? 0.0f : out[i][j];
#pragma endscop
}
