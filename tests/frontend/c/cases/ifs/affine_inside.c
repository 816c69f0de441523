// n=9
void f(int n, double a[n], double b[n], int m[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { int t = m[i]; if (t > 4) { t = i; b[t] = a[t]; } a[i] = t; }
#pragma endscop
}
