// refused: A is of type long double
void f(int n, long double A[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) A[i] = i;
#pragma endscop
}
