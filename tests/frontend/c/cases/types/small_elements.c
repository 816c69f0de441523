// n=9
void f(unsigned n, unsigned a[n], unsigned char c[n], short h[n], char s[n]) {
#pragma scop
  for (unsigned i = 0; i < n; i++) { a[i] = a[i] - 60u; c[i] = c[i] * 7 + a[i]; h[i] = h[i] * 1000 + 3; s[i] = s[i] + 100; a[i] += s[i] - h[i]; c[i]++; s[i] -= c[i]; }
#pragma endscop
}
