// n=16
void f(int n, double a[n + 2]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i | 1] += 1; a[i & ~1] += 2; a[i ^ 1] += 3; }
#pragma endscop
}
