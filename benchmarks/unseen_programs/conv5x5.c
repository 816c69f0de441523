/* Smooth a grey image with a 5x5 binomial mask; the border of two pixels stays. */
#define R 2
static const float mask[5][5] = {
  {1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};

void conv5x5(int h, int w, const float in[h][w], float out[h][w])
{
  int y, x, dy, dx;
#pragma scop
  for (y = R; y < h - R; y++)
    for (x = R; x < w - R; x++) {
      float sum = 0.0f;
      for (dy = -R; dy <= R; dy++)
        for (dx = -R; dx <= R; dx++)
          sum += mask[dy + R][dx + R] * in[y + dy][x + dx];
      out[y][x] = sum / 256.0f;
    }
#pragma endscop
}
