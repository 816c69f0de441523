// k=7
static n = 4;
static helper(a, b) { return a * 3 - b; }
static float half(x) float x; { return x / 2; }
kernel(a, k, c) double *a; register k; const double c; {
  register i;
#pragma scop
  for (i = 0; i < k; i++) a[i] = helper(i, n) + c * half(a[i]);
#pragma endscop
}
