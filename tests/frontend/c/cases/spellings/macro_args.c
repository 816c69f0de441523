// n=9 m=7
#define LOOP(v, lo, hi) for (int v = (lo); v <= (hi) - 1; ++v)
#define A(i, j) A[(i)][(j)]
#define SQ(x) ((x) * (x))
void f(int n, int m, double A[n][m]) {
#pragma scop
  LOOP(i, 0, n) LOOP(j, 0, m) A(i, j) = SQ(A(i, j) + 1) / 2;
#pragma endscop
}
