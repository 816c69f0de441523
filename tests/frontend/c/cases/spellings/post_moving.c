// refused: ++ inside an expression is a side effect
void f(int n, int a[n], int b[n], int c[n]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n - 1; i++) { b[k++] = a[k]++; }
#pragma endscop
}
