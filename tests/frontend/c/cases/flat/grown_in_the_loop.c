// refused: multiplies two values
void grown_in_the_loop(int n, int m, int y[1]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i * m; k++) {
      y[0] += 1;
      k = k + y[0];
    }
#pragma endscop
}
