// n=9
void f(int n, double x[n], double y[n+1]) {
  int i, im1;
#pragma scop
  im1 = n - 1;
  for (i = 0; i < n; i++) { x[i] = (y[i] + y[im1]) * .5; im1 = i; }
  y[i] = im1;
#pragma endscop
}
