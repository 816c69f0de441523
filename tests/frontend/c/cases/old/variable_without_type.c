// refused: variable_without_type.c:2:8: error: a declaration without a type is not supported
static n = 4;
void kernel(double a[100]) {
#pragma scop
  a[0] = n;
#pragma endscop
}
