// n=9
#include <math.h>
#include <ctype.h>
void of_the_c_library(int n, double x[n], float f[n], long y[n], int c[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    x[i] = ldexp(x[i] + 1, i - 3) + scalbn(x[i], 2);
    f[i] = ldexpf(f[i], i) + nearbyintf(f[i] * 3.5f) + jn(2, x[i]);
    y[i] = lround(x[i] * 2.5) + llrintf(f[i]) + ilogb(x[i]);
    c[i] = toupper(97 + i) * 256 + tolower(i + 65);
  }
#pragma endscop
}
