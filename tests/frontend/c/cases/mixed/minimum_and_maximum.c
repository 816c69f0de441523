// n=8
void f(int n, double a[n], double b[n]) {
#pragma scop
  double mx = a[0], mn = a[0]; int imx = 0, imn = 0;
  for (int i = 1; i < n; i++) { if (a[i] > mx) mx = a[i], imx = i; if (a[i] < mn) { mn = a[i]; imn = i; } }
  b[0] = mx - mn; b[1] = imx - imn; b[2] = a[imx] + a[imn];
#pragma endscop
}
