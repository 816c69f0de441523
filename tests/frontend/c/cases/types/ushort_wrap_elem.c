// n=20
void f(int n, unsigned short a[n], signed char b[n], unsigned char c[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i] = a[i] * 60000 + i; b[i] = b[i] + 100 + i; c[i] = -c[i] - 1; a[i] += b[i] > c[i]; c[i] = a[i] >> 3; }
#pragma endscop
}
