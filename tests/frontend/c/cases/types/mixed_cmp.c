// n=20
void f(int n, unsigned u, long s, int a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i] = (a[i] - 5 < u) + (a[i] < s) * 2 + ((unsigned)-1 > i) * 4 + (-1 < (unsigned char)i) * 8; }
#pragma endscop
}
