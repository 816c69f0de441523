// refused: alone.c:6:32: error: helper takes 2 arguments and is given 1
static n = 10;
helper(a, b) { return a + b; }
double a[10];
#pragma scop
for (i = 0; i < n; i++) a[i] = helper(i);
#pragma endscop
