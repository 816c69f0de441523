#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAXW 320
#define MAXH 240

typedef enum { ERODE, DILATE } op_t;

static unsigned char img[MAXH][MAXW], res[MAXH][MAXW];
static int W, H;

/* Smallest or largest value of the cross around a pixel. */
static void morph(op_t op)
{
  int x, y;
  switch (op)
  {
  case ERODE:
    /* nest: erode */
    for (y = 1; y < H - 1; y++)
      for (x = 1; x < W - 1; x++)
      {
        unsigned char m = img[y][x];
        if (img[y-1][x] < m) m = img[y-1][x];
        if (img[y+1][x] < m) m = img[y+1][x];
        if (img[y][x-1] < m) m = img[y][x-1];
        if (img[y][x+1] < m) m = img[y][x+1];
        res[y][x] = m;
      }
    break;
  case DILATE:
    /* nest: dilate */
    for (y = 1; y < H - 1; y++)
      for (x = 1; x < W - 1; x++)
      {
        unsigned char m = img[y][x];
        m = img[y-1][x] > m ? img[y-1][x] : m;
        m = img[y+1][x] > m ? img[y+1][x] : m;
        m = img[y][x-1] > m ? img[y][x-1] : m;
        m = img[y][x+1] > m ? img[y][x+1] : m;
        res[y][x] = m;
      }
    break;
  }
  memcpy(img, res, sizeof img);
}

int main(int argc, char **argv)
{
  W = argc > 1 ? atoi(argv[1]) : 100;
  H = argc > 2 ? atoi(argv[2]) : 70;
  if (W > MAXW || H > MAXH) return 1;
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      img[y][x] = (unsigned char)(x * y + (x ^ y));
  morph(ERODE);
  morph(DILATE);
  unsigned h = 1;
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      h = h * 37 + img[y][x];
  printf("morph %u\n", h);
  return 0;
}
