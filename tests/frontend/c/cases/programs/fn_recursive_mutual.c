// refused: even calls itself
static int odd(int n); static int even(int n) { return n == 0 ? 1 : odd(n - 1); } static int odd(int n) { return n == 0 ? 0 : even(n - 1); }
void f(int n, int a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = even(i);
#pragma endscop
}
