// refused: the loop does not end
void f(unsigned n, double x[n]) {
#pragma scop
  for (unsigned i = n - 1; i >= 0; i--) x[i] = i;
#pragma endscop
}
