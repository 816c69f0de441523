// n=9
#define SWAP(T, a, b) do { T tmp = a; a = b; b = tmp; } while (0)
void f(int n, double x[n], int y[n]) {
#pragma scop
  for (int i = 0; i < n / 2; i++) { SWAP(double, x[i], x[n - 1 - i]); if (y[i] > 4) SWAP(int, y[0], y[i]); }
#pragma endscop
}
