// refused: a loop's step must be a number
void not_given(int n, int s, double A[n]) {
#pragma scop
  for (int i = 0; i < n; i += s)
    A[i] = 0;
#pragma endscop
}
