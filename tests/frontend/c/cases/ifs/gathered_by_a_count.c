// n=9
void f(int n, double a[n], double b[n]) {
  int j = -1;
#pragma scop
  for (int i = 0; i < n; i++) if (a[i] > 0.06) { j++; b[i] = a[j]; }
#pragma endscop
}
