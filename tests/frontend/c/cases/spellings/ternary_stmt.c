// n=9
static void set(double *x) { *x += 3; }
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i] > 0.02 ? (a[i] = 1) : (b[i] = 2); i % 2 ? (void)(b[i] += 1) : (void)0; i > 3 ? set(&a[i]) : set(&b[i]); (void)a[i]; }
#pragma endscop
}
