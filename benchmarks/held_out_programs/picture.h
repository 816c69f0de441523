/* Pictures as they come from a sensor and as they go to a screen. */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdint.h>
#include <stdlib.h>

/* One number a pixel, 10 bits of 16. Rows may be longer than the picture is wide. */
struct mosaic {
  int width, height, pitch;
  uint16_t *pixels;
};

/* Three bytes a pixel, rows without a gap. */
struct picture {
  int width, height;
  uint8_t *rgb;
};

static inline struct mosaic mosaic_new(int width, int height)
{
  struct mosaic m = {width, height, width + 16, NULL};
  m.pixels = malloc(sizeof(uint16_t) * (size_t)m.pitch * (size_t)height);
  return m;
}

static inline struct picture picture_new(int width, int height)
{
  struct picture p = {width, height, NULL};
  p.rgb = calloc(3 * (size_t)width * (size_t)height, 1);
  return p;
}

#endif
