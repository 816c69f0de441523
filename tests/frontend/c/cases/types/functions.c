// n=9
typedef unsigned int uint; typedef unsigned char u8;
static u8 sat(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
static uint mix(u8 a, uint b) { uint r = a; r ^= b << 5; r = r * 2654435761u; return r >> 7; }
void f(int n, u8 im[n][n], uint h[n]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 1; j < n; j++) { im[i][j] = sat(im[i][j] * 3 - im[i][j - 1]); h[j] += mix(im[i][j], h[i]); }
#pragma endscop
}
