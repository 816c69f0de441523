// n=9
void f(int n, float a[n][n], float mx[3]) {
  int i, j, xi, yi; float big;
#pragma scop
  big = a[0][0]; xi = 0; yi = 0;
  for (i = 0; i < n; i++) for (j = 0; j < n; j++) if (a[i][j] > big) { big = a[i][j]; xi = i; yi = j; }
  mx[0] = big; mx[1] = xi + 1; mx[2] = yi + 1;
#pragma endscop
}
