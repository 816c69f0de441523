// n=9
void f(int n, double a[n], double b[n], double r[2]) {
  double x; int index, i;
#pragma scop
  x = a[0]; index = 0;
  for (i = 0; i < n; ++i) { if (a[i] * b[i] > x) { x = a[i] * b[i]; index = i; } }
  r[0] = x; r[1] = index;
#pragma endscop
}
