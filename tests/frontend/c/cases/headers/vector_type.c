// refused: vector_type.c:2:18: error: __attribute__ is not supported
typedef float v4 __attribute__((vector_size(16)));
void kernel(int n, v4 x[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = x[i] + x[i];
#pragma endscop
}
