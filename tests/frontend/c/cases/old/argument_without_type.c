// refused: argument_without_type.c:2:13: error: the argument n of kernel is declared without a type
void kernel(n, a) double a[100]; {
#pragma scop
  a[0] = n;
#pragma endscop
}
