// n=9
#include <stddef.h>
void f(size_t n, double a[n]) {
#pragma scop
  for (size_t i = n - 1; i != (size_t)-1; --i) a[i] = i;
#pragma endscop
}
