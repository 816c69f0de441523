// n=16
void f(int n, double a[n], double r[1]) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0; int i;
#pragma scop
  for (i = 0; i < n - 3; i += 4) { s0 += a[i]; s1 += a[i + 1]; s2 += a[i + 2]; s3 += a[i + 3]; }
  for (; i < n; i++) s0 += a[i];
  r[0] = (s0 + s1) + (s2 + s3);
#pragma endscop
}
