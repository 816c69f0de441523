// n=9
void f(int n, double a[20000]) {
  assert(n <= 9);
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[101 * i + 67 * j] = a[53 * i + 149 * j] * 0.5 + a[67 * j + 101] + i;
#pragma endscop
}
