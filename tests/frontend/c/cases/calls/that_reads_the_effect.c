// refused: may have side effects
static int last = 9;
static int next_value(void) { last = last * 75 % 65537; return last; }
void that_reads_the_effect(int n, int a[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = next_value() % 50 - last;
#pragma endscop
}
