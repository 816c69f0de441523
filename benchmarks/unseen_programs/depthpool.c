#include <math.h>

/* Depthwise 3x3 convolution (NHWC), then maxima of blocks of 2x2. */
void depthpool(int h, int w, int c, float in[2 * h + 2][2 * w + 2][c], float filter[3][3][c],
               float mid[2 * h][2 * w][c], float out[h][w][c])
{
#pragma scop
  for (int ch = 0; ch < c; ch++)
    for (int y = 0; y < 2 * h; y++)
      for (int x = 0; x < 2 * w; x++) {
        mid[y][x][ch] = 0.0f;
        for (int r = 0; r < 3; r++)
          for (int s = 0; s < 3; s++)
            mid[y][x][ch] += in[y + r][x + s][ch] * filter[r][s][ch];
      }
  for (int ch = 0; ch < c; ch++)
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++)
        out[y][x][ch] = fmaxf(fmaxf(mid[2 * y][2 * x][ch], mid[2 * y][2 * x + 1][ch]),
                              fmaxf(mid[2 * y + 1][2 * x][ch], mid[2 * y + 1][2 * x + 1][ch]));
#pragma endscop
}
