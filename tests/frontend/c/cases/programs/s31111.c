// no sizes
static double test(double *A) { double s = 0.0; for (int i = 0; i < 4; i++) s += A[i]; return s; }
void f(double a[32], double r[1]) {
  double sum;
#pragma scop
  sum = 0.; sum += test(a); sum += test(&a[4]); sum += test(a + 8); 
  r[0] = sum;
#pragma endscop
}
