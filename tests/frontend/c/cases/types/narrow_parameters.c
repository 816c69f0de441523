// n=9
void f(long n, int m, double x[n], unsigned short p, char q) {
#pragma scop
  for (long i = 0; i < n; i++) { x[i] = i - m; unsigned short t = i - 3; x[i] += t; x[i] += (char)(i * 50) + p / 3 - q; x[i] += (unsigned char)(i * 50) * (i % 3 - 1); }
  for (int i = 0; i < p; i++) if (i < n) x[i] *= 0.5;
#pragma endscop
}
