// n=7
void f(int n, unsigned char rgb[3 * n], unsigned char grey[n]) {
#pragma scop
  for (int i = 0; i < n; i++) grey[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
#pragma endscop
}
