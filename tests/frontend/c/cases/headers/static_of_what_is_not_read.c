// n=9
static int count = 2, other = 3, third = 4;
static int *pointer = &third;
static int start(int k) {
  count = 7;
  return k ?: 1;
}
static int change(int k) {
  switch (k) {
  case 1 ... 3: other = 8;
  }
  return k;
}
void kernel(int n, int x[n]) {
  *pointer = start(9) + change(2);
#pragma scop
  for (int i = 0; i < n; i++)
    if (i < count + third)
      x[i] = x[i] + count + other + third;
#pragma endscop
}
