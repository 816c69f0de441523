//
static n = 4;
void kernel(double a[100]) {
#pragma scop
  for (int i = 0; i < 10; i++)
    a[i] = n;
#pragma endscop
}
