/* Convolution 3x3 of images with channels (NCHW), bias, relu; no padding. */
void convrelu(int N, int C, int K, int H, int W, const float in[N][C][H + 2][W + 2],
              const float weight[K][C][3][3], const float bias[K], float out[N][K][H][W])
{
#pragma scop
  for (int n = 0; n < N; n++)
    for (int k = 0; k < K; k++)
      for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
          float acc = bias[k];
          for (int c = 0; c < C; c++)
            for (int r = 0; r < 3; r++)
              for (int s = 0; s < 3; s++)
                acc += in[n][c][y + r][x + s] * weight[k][c][r][s];
          out[n][k][y][x] = acc > 0 ? acc : 0;
        }
#pragma endscop
}
