// n=9
void f(int n, double x[3*n], double y[n+1]) {
  int i, k = -1;
#pragma scop
  for (i = 0; i < n; i++) { for (int j = 0; j < 3; j++) { k++; x[k] = i + j; } }
#pragma endscop
}
