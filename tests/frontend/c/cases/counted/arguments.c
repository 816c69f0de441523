// len=37,n=20,m=9
void f(int len, unsigned n, long m, unsigned char *bytes, double *d, const double *s, unsigned *x) {
  unsigned char *buf = bytes;
  unsigned *p = x;
  double *to = d;
  const double *from = s;
#pragma scop
  for (; len > 0; --len, ++buf)
    *buf ^= 29;
  while (n--)
    *p++ += 3;
  while (m > 0) {
    *to++ += 2 * *from++;
    m--;
  }
#pragma endscop
}
