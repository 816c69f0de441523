// refused: g is a function that is not known before the program runs
void f(int n, double a[n], double (*g)(double)) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = g(a[i]);
#pragma endscop
}
