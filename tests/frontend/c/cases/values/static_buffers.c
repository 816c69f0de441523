// n=12
void f(int n, double a[n], double b[n]) {
  static double row[12], zeros[3];
  static const float w[3] = {0.5f, 0.25f, 2.0f};
  static int turn = 1;
#pragma scop
  for (int i = 0; i < 12; i++) row[i] = b[i] * w[i % 3];
  for (int i = 0; i < n; i++) a[i] = row[11 - i % 12] + zeros[i % 3] + turn;
#pragma endscop
}
