// k=7
static int n = 4;
static int helper(a, b) int a, b; { return a * 3 - b; }
static float half(x) float x; { return x / 2; }
void kernel(a, k, c) double *a; register int k; const double c; {
  register int i;
#pragma scop
  for (i = 0; i < k; i++) a[i] = helper(i, n) + c * half(a[i]);
#pragma endscop
}
