// n=12
void f(int n, int h[n], int lut[16], unsigned char px[n]) {
#pragma scop
  for (int i = 0; i < n; i++) px[i] = lut[px[i] & 15] >> 2;
  for (int i = 0; i < n; i++) h[i] = lut[(h[i] % 16 + 16) % 16] + lut[i * i % 16];
#pragma endscop
}
