// n=12
static const float k[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
void f(int n, unsigned char in[n][n], unsigned char out[n][n]) {
#pragma scop
  for (int y = 1; y < n - 1; y++) for (int x = 1; x < n - 1; x++) { float s = 0; for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) s += k[j + 1][i + 1] * in[y + j][x + i]; out[y][x] = s / 16 > 255 ? 255 : (unsigned char)(s / 16); }
#pragma endscop
}
