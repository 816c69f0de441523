// n=9 m=4
void f(int n, int m, double a[m], double b[n]) {
  int at = 0;
#pragma scop
  for (int i = 0; i < n; i++) { a[at] += b[i]; at++; if (at == m) at = 0; }
#pragma endscop
}
