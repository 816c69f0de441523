// n=10
void f(int n, int x[n], int y[n]) {
  int i, last = -1, cnt = 0;
#pragma scop
  for (i = 0; i < n; i++) if (x[i] % 2) { last = i; cnt++; }
  y[0] = last; y[1] = cnt; y[2] = last >= 0 ? x[last] : 0;
#pragma endscop
}
