// refused: type_of_a_missing_header.c:5:12: error: y is of type u32, whose declaration is not read
void kernel(int n, u32 x[n], const u32 *y) {
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = y[i];
#pragma endscop
}
