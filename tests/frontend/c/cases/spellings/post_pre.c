// n=9
void f(int n, int a[n], int b[n], int c[n]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++) { b[i] = a[i]++; c[i] = ++b[i] * 2; --a[i]; b[k++] += 1; if (c[i]-- > 4) c[i] += 2; }
#pragma endscop
}
