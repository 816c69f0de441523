// no sizes
double A[6][8];
void f(void) {
#pragma scop
  double *p = &A[0][0];
  for (int t = 0; t < 48; t++)
    p[t] = t;
#pragma endscop
}
