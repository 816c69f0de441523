// refused: in_what_is_not_read.c:4:
void f(int n, int x[n]) {
  int k = n;
  k = k ?: 3;
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = k;
#pragma endscop
}
