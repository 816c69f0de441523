/* Box blur of width 2*R+1: all rows, then all columns, of an RGB picture. */
#define R 3
void boxblur(int h, int w, float src[h][w][3], float tmp[h][w][3], float dst[h][w][3])
{
#pragma scop
  for (int y = 0; y < h; y++)
    for (int x = R; x < w - R; x++)
      for (int c = 0; c < 3; c++) {
        tmp[y][x][c] = 0;
        for (int k = -R; k <= R; k++)
          tmp[y][x][c] += src[y][x + k][c];
      }
  for (int x = R; x < w - R; x++)
    for (int y = R; y < h - R; y++)
      for (int c = 0; c < 3; c++) {
        dst[y][x][c] = 0;
        for (int k = -R; k <= R; k++)
          dst[y][x][c] += tmp[y + k][x][c];
        dst[y][x][c] /= (2 * R + 1) * (2 * R + 1);
      }
#pragma endscop
}
