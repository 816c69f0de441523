/* A colour picture from a sensor whose cells alternate: red and green, green and blue.
 * Missing colours are means of the neighbours; 10 bits become 8. The frame of two cells stays black.
 *
 *   sensor_debayer [width height]    both even
 */
#include <stdio.h>
#include "picture.h"

static void debayer(const struct mosaic *raw, struct picture *out)
{
  const int w = raw->width, h = raw->height, s = raw->pitch;
  const uint16_t *in = raw->pixels;
  uint8_t *rgb = out->rgb;

  for (int y = 2; y < h - 2; y += 2) {
    for (int x = 2; x < w - 2; x += 2) {
      /* red */
      const int r = in[y * s + x];
      const int rg = (in[(y - 1) * s + x] + in[(y + 1) * s + x] + in[y * s + x - 1] + in[y * s + x + 1]) >> 2;
      const int rb = (in[(y - 1) * s + x - 1] + in[(y - 1) * s + x + 1]
                      + in[(y + 1) * s + x - 1] + in[(y + 1) * s + x + 1]) >> 2;
      rgb[3 * (y * w + x)] = r >> 2;
      rgb[3 * (y * w + x) + 1] = rg >> 2;
      rgb[3 * (y * w + x) + 2] = rb >> 2;
      /* green beside red */
      rgb[3 * (y * w + x + 1)] = (in[y * s + x] + in[y * s + x + 2]) >> 3;
      rgb[3 * (y * w + x + 1) + 1] = in[y * s + x + 1] >> 2;
      rgb[3 * (y * w + x + 1) + 2] = (in[(y - 1) * s + x + 1] + in[(y + 1) * s + x + 1]) >> 3;
      /* green below red */
      rgb[3 * ((y + 1) * w + x)] = (in[y * s + x] + in[(y + 2) * s + x]) >> 3;
      rgb[3 * ((y + 1) * w + x) + 1] = in[(y + 1) * s + x] >> 2;
      rgb[3 * ((y + 1) * w + x) + 2] = (in[(y + 1) * s + x - 1] + in[(y + 1) * s + x + 1]) >> 3;
      /* blue */
      const int bg = (in[y * s + x + 1] + in[(y + 2) * s + x + 1]
                      + in[(y + 1) * s + x] + in[(y + 1) * s + x + 2]) >> 2;
      const int br = (in[y * s + x] + in[y * s + x + 2] + in[(y + 2) * s + x] + in[(y + 2) * s + x + 2]) >> 2;
      rgb[3 * ((y + 1) * w + x + 1)] = br >> 2;
      rgb[3 * ((y + 1) * w + x + 1) + 1] = bg >> 2;
      rgb[3 * ((y + 1) * w + x + 1) + 2] = in[(y + 1) * s + x + 1] >> 2;
    }
  }
}

int main(int argc, char **argv)
{
  const int width = argc > 1 ? atoi(argv[1]) : 64;
  const int height = argc > 2 ? atoi(argv[2]) : 48;
  struct mosaic raw = mosaic_new(width, height);
  struct picture out = picture_new(width, height);
  if (!raw.pixels || !out.rgb)
    return 1;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < raw.pitch; x++)
      raw.pixels[y * raw.pitch + x] = (x * 37 + y * 91 + (x * y) % 53) % 1024;
  debayer(&raw, &out);
  unsigned sum = 0;
  for (int i = 0; i < 3 * width * height; i++)
    sum = sum * 31 + out.rgb[i];
  printf("%u\n", sum);
  free(raw.pixels);
  free(out.rgb);
  return 0;
}
