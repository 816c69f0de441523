// n=13
/* What stands before a comma and does nothing is nothing, in values, conditions and branches. */
void f(int n, double a[n], int k[n]) {
  int i, j;
#pragma scop
  for (i = 0, j = n - 1; i < n, j > 3; i++, j--)
    a[i] += (i, k[j] * 2);
  for (i = 1; i < n; i++)
    k[i] = a[i] > 1 ? (i, k[i - 1] + 1) : (k[i] - 1, -i);
#pragma endscop
}
