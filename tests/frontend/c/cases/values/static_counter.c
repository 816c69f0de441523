// n=6
void f(int n, double a[n]) {
  static int calls = 3;
  static double sum[2];
#pragma scop
  calls++;
  for (int i = 0; i < n; i++) { sum[i % 2] += a[i]; a[i] = calls * sum[1]; }
#pragma endscop
}
