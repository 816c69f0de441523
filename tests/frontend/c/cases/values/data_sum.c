// n=9
void f(int n, double x[n], int y[n]) {
  int c = 0, i;
#pragma scop
  for (i = 0; i < n; i++) { c += y[i]; y[i] = c; }
  x[0] = c;
#pragma endscop
}
