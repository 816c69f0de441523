// n=14
void f(int n, double a[n], double b[n], int c[n]) {
#pragma scop
  int i = n, j = 0;
  while (i--)
    a[i] += b[i];
  while (j < n - 1) {
    b[j] = a[j + 1] + j;
    j++;
  }
  c[0] = i + j;
  int k = n - 1;
  while (k > 0) {
    c[k] += c[k - 1];
    k -= 2;
  }
  c[1] += k;
#pragma endscop
}
