// refused: leaves dimension 1 of A[k]
static int k = 2;
int g(void);
void kernel(double *A) {
  int k = g();
#pragma scop
  for (int i = 0; i < k; i++)
    A[i] = 2 * A[i];
#pragma endscop
}
