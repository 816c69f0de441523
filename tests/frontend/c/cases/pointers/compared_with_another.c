// refused: a loop's counter must be an integer
void compared(int n, double a[n], double b[n]) {
#pragma scop
  for (double *p = a; p < b; p++)
    *p = 2;
#pragma endscop
}
