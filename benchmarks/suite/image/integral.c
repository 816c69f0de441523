#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <assert.h>

/* Sums over all rectangles from the corner, and local means from four of them. */
typedef struct {
  uint32_t *sum;
  size_t w, h;
} Integral;

static void build(Integral *t, const uint8_t *px)
{
  assert(t->w > 0 && t->h > 0);
  /* nest: prefix */
  for (size_t y = 0; y < t->h; y++) {
    uint32_t line = 0;
    for (size_t x = 0; x < t->w; x++) {
      line += px[y * t->w + x];
      t->sum[y * t->w + x] = line + (y > 0 ? t->sum[(y - 1) * t->w + x] : 0);
    }
  }
}

static void local_mean(const uint32_t *s, uint8_t *out, int w, int h, int r)
{
  const int area = (2 * r + 1) * (2 * r + 1);
  /* nest: mean */
  for (int y = r + 1; y < h - r; y++)
    for (int x = r + 1; x < w - r; x++) {
      uint32_t box = s[(y + r) * w + x + r] - s[(y - r - 1) * w + x + r]
                   - s[(y + r) * w + x - r - 1] + s[(y - r - 1) * w + x - r - 1];
      out[y * w + x] = (uint8_t)(box / area);
    }
}

int main(void)
{
  Integral t = {NULL, 64, 48};
  uint8_t *px = malloc(t.w * t.h), *out = calloc(t.w * t.h, 1);
  t.sum = malloc(t.w * t.h * sizeof *t.sum);
  for (size_t i = 0; i < t.w * t.h; i++) px[i] = (uint8_t)(i * 11 ^ i >> 3);
  build(&t, px);
  local_mean(t.sum, out, (int)t.w, (int)t.h, 3);
  unsigned long h = 0;
  for (size_t i = 0; i < t.w * t.h; i++) h = h * 31 + out[i];
  printf("integral %lu\n", h);
  return 0;
}
