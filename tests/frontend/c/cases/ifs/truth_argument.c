// n=9, both=1, level=200
void f(int n, double p[n], _Bool both, unsigned char level, double q[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    if (both)
      q[i] = -p[i];
    if (level > 150)
      p[i] = 2 * q[i];
  }
#pragma endscop
}
