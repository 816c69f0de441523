// n=9 m=7
static void count(double *p, int n) { for (int i = 0; i < n; i++) *p++ = i; }
static double apart(const double *p, unsigned n) { double s = 0; const double *q = p + 1; for (unsigned i = 0; i + 1 < n; i++) s += q[i] - *(p + i); return s; }
void f(int n, int m, double a[2 * n], double in[n], double A[n][m], double b[m], unsigned u[n], double T[n][m][4], int x[n], int index[n]) {
  double *p = a, *q = a + n;
  const double *last = &in[n - 1];
  int *next = index;
#pragma scop
  for (int i = 0; i < n; i++) { *(a + i) = last[-i] * 2; *q++ += 1; *p++ -= in[i]; }
  p -= n;
  for (unsigned i = 0; i < n; i++) { *(p + n - 1 - i) = i; p[i] += 1; x[*next++ % n] = i; }
  for (int i = 0; i < n; i++) { double *r = A[i]; for (int j = 0; j < m; j++) *r++ += b[j]; r -= m; r[0] = i; }
  for (int i = 0; i < n; i++) { double (*rr)[4] = T[i]; for (int j = 0; j < m; j++) { double *s = rr[j]; s[1] = i; s++; s[2] = j; (*(rr + j))[0] = 7; } }
  for (int i = 0; i < n; i++) { double *r = A[i] + 1; *r = i; }
  for (int i = 1; i < n; i++) { count(A[i], m); count(b + 1, m - 1); b[0] += apart(A[i], m); }
#pragma endscop
}
