// n=14 s=3
#include <assert.h>
void stated(int n, int s, int x[n]) {
  assert(s == 3);
#pragma scop
  for (int i = 0; i < n; i = i + s)
    x[i] = i * s;
#pragma endscop
}
