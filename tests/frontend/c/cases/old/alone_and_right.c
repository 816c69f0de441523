// no sizes
static n = 10;
helper(a, b) { return a + b; }
double a[10];
#pragma scop
for (i = 0; i < 10; i++) a[i] = helper(i, n);
#pragma endscop
