// refused: calls_what_is_not_read.c:2:50: error: syntax error before
static inline int f(int x) { switch (x) { case 1 ... 3: return 1; } return 0; }
void kernel(int n, int x[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = f(i);
#pragma endscop
}
