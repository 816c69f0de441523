// n=6 s=36
void f(int n, int s, double aa[n][n], double bb[n][n], double flat[s]) {
  int k;
#pragma scop
  k = -1;
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (bb[j][i] > 0.05) { k++; flat[k] = aa[j][i]; }
#pragma endscop
}
