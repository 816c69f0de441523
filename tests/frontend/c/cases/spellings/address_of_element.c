// n=9
void kernel(int n, double a[n], double y[n], double *z) {
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] += *&a[i] + *&a[0] + (&*z)[i];
  *&y[0] = 1;
#pragma endscop
}
