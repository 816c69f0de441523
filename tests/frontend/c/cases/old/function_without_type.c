// refused: function_without_type.c:2:1: error: a function that is defined so, or without a type, is refused
kernel(n, a) int n; double a[100]; {
#pragma scop
  a[0] = n;
#pragma endscop
}
