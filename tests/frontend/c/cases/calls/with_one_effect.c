// n=9
// The only call of an expression may change what nothing else in it reads.
static unsigned last = 9;
static int next_value(void) { last = last * 75u % 65537u; return (int)last; }
static double step(double *x, int k) { *x = *x * 0.5 + k; return *x; }
void with_one_effect(int n, int a[n], double b[n], double start) {
  double x = start;
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = next_value() % 50 - 25;
  for (int i = 0; i < n; i++)
    b[i] += 2 * step(&x, i) - a[i];
#pragma endscop
}
