// n=9
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) i[a] = n;
#pragma endscop
}
