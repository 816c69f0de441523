// n=16
void f(int n, double a[n], double b[n]) {
  int im1 = n - 1, im2 = n - 2;
#pragma scop
  for (int i = 0; i < n; i++) { a[i] = (b[i] + b[im1] + b[im2]) * .333; im2 = im1; im1 = i; }
#pragma endscop
}
