// n=7,m=5,k=4
// A body that runs once before its condition is asked, known to hold or not.
void do_loops(int n, int m, int k, double *a, double *b, double *c) {
#pragma scop
  int i = 0;
  do {
    a[i] = 2 * b[i];
    i++;
  } while (i < 6);
  int j = 0;
  do {
    double t = b[j];
    c[j] = t + j;
    j += 2;
  } while (j < m);
  for (int r = 0; r < n; r++) {
    i = 1;
    do {
      b[i] += a[i - 1];
      ++i;
    } while (i < 5);
  }
  while (--k >= 0)
    c[k] += a[k];
#pragma endscop
}
