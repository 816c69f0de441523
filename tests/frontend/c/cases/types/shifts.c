// n=20
void f(int n, unsigned a[n], long b[n], unsigned char c[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i] = a[i] << (i & 15) | a[i] >> (32 - 1 - (i & 15)); b[i] = (long)a[i] << 20; c[i] <<= 3; c[i] >>= 1; }
#pragma endscop
}
