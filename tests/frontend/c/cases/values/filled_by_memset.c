// n=9,count=7
#include <string.h>
void filled_by_memset(int n, int count, int x[n], unsigned *bins) {
  memset(bins, 0, count * sizeof *bins);
#pragma scop
  for (int i = 0; i < n; i++)
    bins[(x[i] & 1023) % 5]++;
#pragma endscop
}
