// n=9
void f(int n, double a[5]) {
#pragma scop
  for (int i = 0; i < n; i++) a[4 + -i % 5] += i;
  for (int i = -n; i < n; i++) a[(i % 5 + 5) % 5] += i;
#pragma endscop
}
