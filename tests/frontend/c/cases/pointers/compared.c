// n=9
void compared(int n, double a[n], double b[n]) {
  double *p, *q;
#pragma scop
  for (p = a, q = b; p < a + n; p++, q++)
    *p = 2 * *q;
  for (double *r = a + n - 1; r != a; r--)
    *r += r[-1];
#pragma endscop
}
