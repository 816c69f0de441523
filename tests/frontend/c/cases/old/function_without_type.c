// n=9
extern double sqrt();
static count;
kernel(n, a, b) int n; double *a, *b; {
  register int i;
#pragma scop
  for (i = 0; i < n; i++)
    a[i] += 2 * b[i];
#pragma endscop
  count++;
}
