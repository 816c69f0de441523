// k=9
static int g(void) {
  int result = 0;
  for (int i = 0; i < 9; i++)
    result++;
  return result;
}
void kernel(double *A, int *B) {
  int k = g();
#pragma scop
  for (int i = 0; i < k; i++)
    A[i] = 2 * A[i] + B[i + 1];
#pragma endscop
}
