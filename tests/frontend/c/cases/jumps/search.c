// refused: break is not supported
void f(int n, double a[n], int r[1]) {
  int index = -2;
#pragma scop
  for (int i = 0; i < n; ++i) { if (a[i] > 3) { index = i; break; } }
  r[0] = index;
#pragma endscop
}
