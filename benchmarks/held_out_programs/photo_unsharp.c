/* Unsharp mask of a grey photo: blur with 1 4 6 4 1 in both directions, add back what was lost
 * where it is more than noise.
 *
 *   photo_unsharp [height width]
 */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char byte;

static int clamp255(int v)
{
  return v < 0 ? 0 : v > 255 ? 255 : v;
}

void unsharp(int height, int width, const byte *in, short *rows, byte *out, int amount, int threshold)
{
#pragma scop
  for (int y = 0; y < height; y++)
    for (int x = 2; x < width - 2; x++)
      rows[y * width + x] = in[y * width + x - 2] + 4 * in[y * width + x - 1] + 6 * in[y * width + x]
                            + 4 * in[y * width + x + 1] + in[y * width + x + 2];

  for (int y = 2; y < height - 2; y++)
    for (int x = 2; x < width - 2; x++) {
      int soft = (rows[(y - 2) * width + x] + 4 * rows[(y - 1) * width + x] + 6 * rows[y * width + x]
                  + 4 * rows[(y + 1) * width + x] + rows[(y + 2) * width + x] + 128) >> 8;
      int detail = in[y * width + x] - soft;
      if (detail > threshold || detail < -threshold)
        out[y * width + x] = clamp255(in[y * width + x] + ((amount * detail) >> 6));
      else
        out[y * width + x] = in[y * width + x];
    }
#pragma endscop
}

int main(int argc, char **argv)
{
  int height = argc > 1 ? atoi(argv[1]) : 40;
  int width = argc > 2 ? atoi(argv[2]) : 50;
  size_t count = (size_t)height * (size_t)width;
  byte *in = calloc(count, 1), *out = calloc(count, 1);
  short *rows = calloc(count, sizeof *rows);
  if (!in || !out || !rows)
    return 1;
  for (size_t i = 0; i < count; i++)
    in[i] = (byte)((i * i / 7 + 13 * i) % 251);
  unsharp(height, width, in, rows, out, 96, 5);
  unsigned sum = 0;
  for (size_t i = 0; i < count; i++)
    sum = sum * 33 + out[i];
  printf("%u\n", sum);
  free(in);
  free(out);
  free(rows);
  return 0;
}
