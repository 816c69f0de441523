// n=4
void f(int n, double a[n]) {
#pragma scop
  a[0] = 1; int k; k = n - 1; double t = a[k]; for (k = 0; k < n; k++) { a[k] = t; }
#pragma endscop
}
