/* First step of a picture coder: packed RGB to one plane of brightness and two of colour, these at
 * half the resolution, in whole numbers.
 *
 *   jpeg_planes [h w]    half of the height and of the width
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SHIFT 8
#define Y_OF(r, g, b) ((77 * (r) + 150 * (g) + 29 * (b) + 128) >> SHIFT)

static void to_planes(int h, int w, uint8_t rgb[2 * h][2 * w][3], uint8_t luma[2 * h][2 * w],
                      uint8_t cb[h][w], uint8_t cr[h][w])
{
#pragma scop
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int r = 0, g = 0, b = 0;
      for (int v = 0; v < 2; v++)
        for (int u = 0; u < 2; u++) {
          luma[2 * y + v][2 * x + u] = Y_OF(rgb[2 * y + v][2 * x + u][0], rgb[2 * y + v][2 * x + u][1],
                                            rgb[2 * y + v][2 * x + u][2]);
          r += rgb[2 * y + v][2 * x + u][0];
          g += rgb[2 * y + v][2 * x + u][1];
          b += rgb[2 * y + v][2 * x + u][2];
        }
      cb[y][x] = ((-43 * r - 85 * g + 128 * b) >> (SHIFT + 2)) + 127;
      cr[y][x] = ((128 * r - 107 * g - 21 * b) >> (SHIFT + 2)) + 127;
    }
#pragma endscop
}

int main(int argc, char **argv)
{
  int h = argc > 1 ? atoi(argv[1]) : 20, w = argc > 2 ? atoi(argv[2]) : 24;
  uint8_t (*rgb)[2 * w][3] = malloc(sizeof(uint8_t[2 * h][2 * w][3]));
  uint8_t (*luma)[2 * w] = malloc(sizeof(uint8_t[2 * h][2 * w]));
  uint8_t (*cb)[w] = malloc(sizeof(uint8_t[h][w]));
  uint8_t (*cr)[w] = malloc(sizeof(uint8_t[h][w]));
  if (!rgb || !luma || !cb || !cr)
    return 1;
  for (int y = 0; y < 2 * h; y++)
    for (int x = 0; x < 2 * w; x++)
      for (int c = 0; c < 3; c++)
        rgb[y][x][c] = (uint8_t)((y * 5 + x * 3 + c * 60 + (x * y) % 17) % 256);
  to_planes(h, w, rgb, luma, cb, cr);
  long sum = 0;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      sum += luma[2 * y][2 * x + 1] * 7 + cb[y][x] * 3 - cr[y][x];
  printf("%ld\n", sum);
  free(rgb);
  free(luma);
  free(cb);
  free(cr);
  return 0;
}
