// refused: local_without_type.c:3:12: error: a declaration without a type is not supported
void kernel(double a[100]) {
  register i;
#pragma scop
  for (i = 0; i < 9; i++) a[i] = 0;
#pragma endscop
}
