// refused: multiplies two values
// Where last is less than first, a difference without a sign is large.
#include <stddef.h>
void backwards_without_a_sign(size_t n, size_t m, size_t first, size_t last, double y[1]) {
#pragma scop
  for (size_t i = 0; i < n; i++)
    for (size_t k = i * m + first; k < i * m + last; k++)
      y[0] += 1;
#pragma endscop
}
