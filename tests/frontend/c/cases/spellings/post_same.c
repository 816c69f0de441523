// refused: post_same.c:4:44: error: ++ inside an expression is a side effect
void f(int n, int a[n], int b[n], int c[n]) {
#pragma scop
  for (int i = 0; i < n - 1; i++) { b[i] = a[i]++ + a[i + 1]; }
#pragma endscop
}
