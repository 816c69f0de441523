// refused: no_such_argument.c:2:35: error: kernel has no argument b
kernel(n, a) double a[100]; float b; {
#pragma scop
  a[0] = n;
#pragma endscop
}
