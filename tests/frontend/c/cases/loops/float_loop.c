// refused: counter must be an integer; x is float
void f(int n, double a[n]) {
#pragma scop
  for (float x = 0; x < 1; x += .1) a[0] += x;
#pragma endscop
}
