// n=17
/* Each value is converted to int8_t as it is returned, not to double first, as both would be in
   one expression: 17 + ~17 is the largest number without a sign there. */
#include <stdint.h>
static int8_t minus_one(uint16_t a, long b) {
  if (a == 3)
    return 2.5;
  return (unsigned long)b + ~b;
}
static int8_t nearly(int a, unsigned b) {
  int8_t c = a;
  if (a % 5 == 0)
    return -1;
  else if (a % 3 == 0) {
    const float d = a / 4.0f;
    return d;
  }
  return b * c;
}
static float rounded(int a) {
  if (a > 50)
    return 16777217 + a;
  return 0.1;
}
void f(int n, double x[n], int a[n], long y[n], double z[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    x[i] = minus_one(a[i], n);
    y[i] = nearly(a[i], 3000000000u) * 2u;
    z[i] = rounded(a[i]) * 3.0;
  }
#pragma endscop
}
