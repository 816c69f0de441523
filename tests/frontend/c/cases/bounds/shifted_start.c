// m=8
// k counts from -1, so that a signed bound it must be.
void shifted_start(int m, double A[m], double s[4]) {
  int from[4] = {-1, 0, 3, 5}, to[4] = {2, 0, 7, 6};
#pragma scop
  for (int i = 0; i < 4; i++)
    for (int k = from[i]; k < to[i]; k++)
      s[i] += A[k + 1] + k;
#pragma endscop
}
