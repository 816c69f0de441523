// n=9 m=3
// Values modulo 2^64: x - 2^64 * floor(x / 2^64), isl's form of them, has numbers wider than long.
static void negate(unsigned long low, long high, unsigned long *lv, long *hv) {
  if (low == 0) {
    *lv = 0;
    *hv = -high;
  } else {
    *lv = -low;
    *hv = ~high;
  }
}
void differences_of_64_bits(int n, unsigned long m, unsigned long a[n], long b[n]) {
  unsigned long low;
  long high;
#pragma scop
  for (int i = 0; i < n; i++) {
    negate(m, i, &low, &high);
    a[i] = low;
    b[i] = high;
  }
#pragma endscop
}
