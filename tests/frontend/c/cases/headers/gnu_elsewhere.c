// n=9
typedef float v4 __attribute__((vector_size(16)));
typedef int byte_t __attribute__((mode(QI)));
#define SWAP(a, b) do { __typeof__(a) t_ = (a); (a) = (b); (b) = t_; } while (0)
static int count, other = 4;
int jump(int k) {
  static void *places[] = { &&a, &&b };
  goto *places[k];
a:
  count = 1;
b:
  return count;
}
int ranges(int c) {
  switch (c) {
  case '0' ... '9': return 1;
  default: return c ?: 2;
  }
}
v4 twice(v4 x) { SWAP(count, other); return x + x; }
int same(int x) { return x + __builtin_types_compatible_p(int, long); }
void kernel(int n, int x[n]) {
  int k = same(0) + ranges(n);
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = x[i] + count + other;
#pragma endscop
  count = k + jump(1);
}
