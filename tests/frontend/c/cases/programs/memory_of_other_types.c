// refused: memset has no body here
#include <string.h>
void kernel(int n, double a[n]) {
#pragma scop
  memset(a, 1, n * sizeof(double));
#pragma endscop
}
