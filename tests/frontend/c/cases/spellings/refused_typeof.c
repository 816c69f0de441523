// refused: t is of type polygym_typeof
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    __typeof__(unknown(i)) t = 2.5;
    a[i] = t;
  }
#pragma endscop
}
