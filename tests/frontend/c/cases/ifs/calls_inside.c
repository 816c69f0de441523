// no sizes
#include <math.h>
double a[20], b[20], c[20]; void continue_(int i) { c[i] = 7; b[i]--; }
int main() { for (int i = 0; i < 20; i++) { a[i] = i - 9.5; b[i] = i % 3 - 1; c[i] = 0; }
#pragma scop
  for (int i = 0; i < 20; i++) { if (fabs(a[i]) > 3) { if (b[i] > 0) c[i] = sqrt(fabs(a[i])); else if (b[i] == 0) c[i] = -1; } else continue_(i); }
#pragma endscop
}

