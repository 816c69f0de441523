// Cosine transform of blocks of 8 x 8 and quantisation, integers.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define B 8
typedef short block_t[B][B];

static int cosine[B][B];
static const unsigned char quant[B * B] = {
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 99, 99, 77, 24, 35, 55, 64, 81, 99, 99, 92,
    49, 64, 78, 87, 99, 99, 99, 99, 72, 92, 95, 98, 99, 99, 99, 99};

static void make_table(void) {
  for (int k = 0; k < B; k++)
    for (int n = 0; n < B; n++)
      cosine[k][n] = (int)lround(1024 * cos((2 * n + 1) * k * 3.14159265358979 / 16));
}

void forward(block_t *blocks, int count) {
  int b, i, j, k;
  int rows[B][B];
  /* nest: transform */
  for (b = 0; b < count; b++) {
    for (i = 0; i < B; i++)
      for (j = 0; j < B; j++) {
        int s = 0;
        for (k = 0; k < B; k++) s += cosine[j][k] * blocks[b][i][k];
        rows[i][j] = s >> 10;
      }
    for (i = 0; i < B; i++)
      for (j = 0; j < B; j++) {
        int s = 0;
        for (k = 0; k < B; k++) s += cosine[i][k] * rows[k][j];
        blocks[b][i][j] = (short)(s >> 12);
      }
  }
}

void quantise(block_t *blocks, int count) {
  /* nest: quantise */
  for (int b = 0; b < count; b++) {
    short *p = &blocks[b][0][0];
    for (int i = 0; i < B * B; i++) p[i] = (short)(p[i] / quant[i]);
  }
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 20;
  block_t *blocks = malloc(sizeof(block_t) * count);
  long sum = 0;
  make_table();
  for (int b = 0; b < count; b++)
    for (int i = 0; i < B; i++)
      for (int j = 0; j < B; j++) blocks[b][i][j] = (short)((b * 17 + i * 31 + j * j * 7) % 255 - 128);
  forward(blocks, count);
  quantise(blocks, count);
  for (int b = 0; b < count; b++)
    for (int i = 0; i < B * B; i++) sum += blocks[b][i / B][i % B] * (i + 1);
  printf("dct8 %ld\n", sum);
  free(blocks);
  return 0;
}
