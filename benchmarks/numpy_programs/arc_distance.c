/* Great-circle distances between pairs of points. */
#include <math.h>
void arc_distance(int n, double a[n], double b[n], double c[n], double d[n], double out[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    double s = sin((c[i] - a[i]) * 0.5), t = sin((d[i] - b[i]) * 0.5);
    double h = s * s + cos(a[i]) * cos(c[i]) * t * t;
    out[i] = 2.0 * atan2(sqrt(h), sqrt(1.0 - h));
  }
#pragma endscop
}
