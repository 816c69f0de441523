// refused: fact calls itself
int fact(int n) { if (n < 2) return 1; return n * fact(n - 1); }
void f(int n, double x[n]) {
#pragma scop
  x[0] = fact(3);
#pragma endscop
}
