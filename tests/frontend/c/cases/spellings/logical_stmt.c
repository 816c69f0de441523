// n=9
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i] > 0.02 && (a[i] = 1); i % 2 || (b[i] += 1); a[i] < 3 && b[i] > 0.01 && (b[i] = 7); }
#pragma endscop
}
