// refused: the counter len outside its loop
int f(int n, int len, double *a) {
#pragma scop
  for (; len > 0; --len)
    a[len] = 1;
  a[0] = len;
#pragma endscop
  return len;
}
