// refused: next has static variables
static int next(void) { static int k = 0; return k++; }
void f(int n, int a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = next();
#pragma endscop
}
