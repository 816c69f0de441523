// no sizes
#define N 8
float flat[N*N], aa[N][N]; int lim = 5;
void f(void) { int i, j, k;
#pragma scop
  k = -1;
  for (i = 0; i < N; i++) for (j = 0; j < N; j++) { k++; flat[k] = aa[j][i] + k; }
  k = 0; for (i = 0; i < 6; i++) { k += 1; for (j = 0; j < i; j++) aa[j][k] = flat[k]; }
#pragma endscop
}
