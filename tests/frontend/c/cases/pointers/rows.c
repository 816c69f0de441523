// no sizes
#define N 6
void f(int a[][N], int *p, int n) {
#pragma scop
  for (int i = 0; i < N; i++) for (int j = 0; j < i; j++) { a[i][j] = p[i * N + j] + a[j][i]; }
#pragma endscop
}
