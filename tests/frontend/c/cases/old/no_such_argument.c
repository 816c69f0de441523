// refused: no_such_argument.c:2:47: error: kernel has no argument b
void kernel(n, a) int n; double a[100]; float b; {
#pragma scop
  a[0] = n;
#pragma endscop
}
