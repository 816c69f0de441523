/* tile=off unroll_jam=3 vector_bits=128 vector_copies=1 */
#define polygym_min(a, b) ((a) < (b) ? (a) : (b))
#define polygym_max(a, b) ((a) > (b) ? (a) : (b))
#define polygym_floord(a, b) ((a) < 0 ? -((-(a) + (b) - 1) / (b)) : (a) / (b))

void f(int n, int m, float C[n][n], float A[n][m])
{
  float (*A_packed)[n] = __builtin_malloc(sizeof(float[m][n]) + 1);
  if (!A_packed)
    __builtin_trap();
  for (long A_packed_1_block = 0; A_packed_1_block < m; A_packed_1_block += 16) {
    for (long A_packed_0_block = 0; A_packed_0_block < n; A_packed_0_block += 16) {
      for (long A_packed_1 = A_packed_1_block; A_packed_1 <= polygym_min(A_packed_1_block + 15, m - 1); A_packed_1 += 1) {
        for (long A_packed_0 = A_packed_0_block; A_packed_0 <= polygym_min(A_packed_0_block + 15, n - 1); A_packed_0 += 1) {
          A_packed[A_packed_1][A_packed_0] = A[A_packed_0][A_packed_1];
        }
      }
    }
  }
  for (long c0 = 0; c0 <= n - 3; c0 += 3) {
    for (long c1 = 0; c1 <= c0 - 3; c1 += 4) {
      for (long c2 = 0; c2 < m; c2 += 1) {
        for (long c1_ = c1; c1_ <= c1 + 3; c1_ += 1)
          C[c0][c1_] = C[c0][c1_] + A[c0][c2] * A_packed[c2][c1_];
        for (long c1_ = c1; c1_ <= c1 + 3; c1_ += 1)
          C[c0 + 1][c1_] = C[c0 + 1][c1_] + A[c0 + 1][c2] * A_packed[c2][c1_];
        for (long c1_ = c1; c1_ <= c1 + 3; c1_ += 1)
          C[c0 + 2][c1_] = C[c0 + 2][c1_] + A[c0 + 2][c2] * A_packed[c2][c1_];
      }
    }
    for (long c1 = 4 * polygym_floord(polygym_max(0, c0 + 1), 4); c1 <= c0; c1 += 4) {
      for (long c2 = 0; c2 < m; c2 += 1) {
        for (long c1_ = c1; c1_ <= polygym_min(c1 + 3, c1 + (c0 - c1 + 1) - 1); c1_ += 1)
          C[c0][c1_] = C[c0][c1_] + A[c0][c2] * A_packed[c2][c1_];
        for (long c1_ = c1; c1_ <= polygym_min(c1 + 3, c1 + (c0 - c1 + 1) - 1); c1_ += 1)
          C[c0 + 1][c1_] = C[c0 + 1][c1_] + A[c0 + 1][c2] * A_packed[c2][c1_];
        for (long c1_ = c1; c1_ <= polygym_min(c1 + 3, c1 + (c0 - c1 + 1) - 1); c1_ += 1)
          C[c0 + 2][c1_] = C[c0 + 2][c1_] + A[c0 + 2][c2] * A_packed[c2][c1_];
      }
    }
    for (long c0_ = c0; c0_ <= c0 + 2; c0_ += 1) {
      for (long c1 = polygym_max(c0 + 1, 0); c1 <= c0_ - 3; c1 += 4) {
        for (long c2 = 0; c2 < m; c2 += 1) {
          for (long c1_ = c1; c1_ <= c1 + 3; c1_ += 1)
            C[c0_][c1_] = C[c0_][c1_] + A[c0_][c2] * A_packed[c2][c1_];
        }
      }
      for (long c1 = polygym_max(c0 + 1, 0) + 4 * polygym_floord(polygym_max(0, c0_ - polygym_max(c0 + 1, 0) + 1), 4); c1 <= c0_; c1 += 4) {
        for (long c2 = 0; c2 < m; c2 += 1) {
          for (long c1_ = c1; c1_ <= polygym_min(c1 + 3, c1 + (c0_ - c1 + 1) - 1); c1_ += 1)
            C[c0_][c1_] = C[c0_][c1_] + A[c0_][c2] * A_packed[c2][c1_];
        }
      }
    }
  }
  for (long c0 = 3 * polygym_floord(polygym_max(0, n), 3); c0 < n; c0 += 1) {
    for (long c1 = 0; c1 <= c0 - 3; c1 += 4) {
      for (long c2 = 0; c2 < m; c2 += 1) {
        for (long c1_ = c1; c1_ <= c1 + 3; c1_ += 1)
          C[c0][c1_] = C[c0][c1_] + A[c0][c2] * A_packed[c2][c1_];
      }
    }
    for (long c1 = 4 * polygym_floord(polygym_max(0, c0 + 1), 4); c1 <= c0; c1 += 4) {
      for (long c2 = 0; c2 < m; c2 += 1) {
        for (long c1_ = c1; c1_ <= polygym_min(c1 + 3, c1 + (c0 - c1 + 1) - 1); c1_ += 1)
          C[c0][c1_] = C[c0][c1_] + A[c0][c2] * A_packed[c2][c1_];
      }
    }
  }
  __builtin_free(A_packed);
}
