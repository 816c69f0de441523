/* Connected areas of a bitmap: scans until nothing changes; a flood by a stack for one of them. */
#include <stdio.h>
#include <stdbool.h>
#include <string.h>
#define S 40

static unsigned char bit[S][S];
static int name[S][S];

static bool spread(void) {
  bool changed = false;
  /* nest: spread */
  for (int y = 1; y < S; y++)
    for (int x = 1; x < S; x++) {
      if (!bit[y][x]) continue;
      int least = name[y][x];
      if (bit[y - 1][x] && name[y - 1][x] < least) least = name[y - 1][x];
      if (bit[y][x - 1] && name[y][x - 1] < least) least = name[y][x - 1];
      if (least != name[y][x]) { name[y][x] = least; changed = true; }
    }
  return changed;
}

static int flood(int x, int y) {
  static int stack[4 * S * S];
  int top = 0, area = 0;
  stack[top++] = y * S + x;
  /* nest: flood */
  while (top > 0) {
    int at = stack[--top];
    int cx = at % S, cy = at / S;
    if (cx < 0 || cy < 0 || cx >= S || cy >= S || bit[cy][cx] != 1) continue;
    bit[cy][cx] = 2;
    area++;
    if (cx + 1 < S) stack[top++] = at + 1;
    if (cx > 0) stack[top++] = at - 1;
    if (cy + 1 < S) stack[top++] = at + S;
    if (cy > 0) stack[top++] = at - S;
  }
  return area;
}

int main(void) {
  for (int y = 0; y < S; y++)
    for (int x = 0; x < S; x++) {
      bit[y][x] = ((x * 5 + y * 3) % 11) > 3;
      name[y][x] = y * S + x;
    }
  int rounds = 0;
  while (spread()) rounds++;
  long sum = 0;
  for (int y = 0; y < S; y++) for (int x = 0; x < S; x++) sum += name[y][x] * (long)bit[y][x];
  printf("labels %d %ld %d\n", rounds, sum, flood(4, 2));
  return 0;
}
