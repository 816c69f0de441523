// n=9 m=5
void f(int n, int m, double a[n]) {
#pragma scop
  for (int i = (m > 3 ? m - 3 : 0); i < (n < 100 ? n : 100); i++) a[i] = i;
#pragma endscop
}
