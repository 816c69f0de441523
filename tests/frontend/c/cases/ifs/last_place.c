// n=9
void f(int n, double a[n], double b[n], double d[n], double e[n]) {
  int j;
#pragma scop
  j = -1;
  for (int i = 0; i < n; i++) { if (b[i] > 0.05) { j = i; a[i] = b[i] + d[i] * e[i]; } else { a[j + 1] = 0; } }
#pragma endscop
}
