// n=9
void f(int n, double x[n], double y[n+1]) {
  int i, im1, im2;
  im1 = n - 1; im2 = n - 2;
  assert(n > 2);
#pragma scop
  for (i = 0; i < n; i++) { x[i] = (y[i] + y[im1] + y[im2]) * .333; im2 = im1; im1 = i; }
  y[im2] = im1;
#pragma endscop
}
