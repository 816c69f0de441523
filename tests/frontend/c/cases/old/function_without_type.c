// refused: function_without_type.c:2:1: error: a declaration without a type is not understood
kernel(n, a) int n; double a[100]; {
#pragma scop
  a[0] = n;
#pragma endscop
}
