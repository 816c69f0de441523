/* tile=16x24x8 unroll_jam=2 vector_bits=256 vector_copies=1 order=1x2 */
#define polygym_min(a, b) ((a) < (b) ? (a) : (b))
#define polygym_max(a, b) ((a) > (b) ? (a) : (b))
#define polygym_floord(a, b) ((a) < 0 ? -((-(a) + (b) - 1) / (b)) : (a) / (b))

void f(int n, int m, int k, double C[n][m], double A[n][k], double B[k][m], double beta)
{
  for (long c0 = 0; c0 <= (n - 1) / 16; c0 += 1) {
    for (long c1 = 0; c1 <= (m - 1) / 24; c1 += 1) {
      for (long c4 = 16 * c0; c4 <= polygym_min(n - 1, 16 * c0 + 15); c4 += 1) {
        for (long c5 = 24 * c1; c5 <= polygym_min(m - 1, 24 * c1 + 23) - 3; c5 += 4) {
          for (long c5_ = c5; c5_ <= c5 + 3; c5_ += 1)
            C[c4][c5_] = C[c4][c5_] * beta;
        }
        for (long c5 = 24 * c1 + 4 * polygym_floord(polygym_max(0, polygym_min(m - 1, 24 * c1 + 23) - 24 * c1 + 1), 4); c5 <= polygym_min(m - 1, 24 * c1 + 23); c5 += 4) {
          for (long c5_ = c5; c5_ <= polygym_min(c5 + 3, c5 + (polygym_min(m - 1, 24 * c1 + 23) - c5 + 1) - 1); c5_ += 1)
            C[c4][c5_] = C[c4][c5_] * beta;
        }
      }
      for (long c2 = 0; c2 <= (k - 1) / 8; c2 += 1) {
        for (long c3 = 8 * c2; c3 < polygym_min(k - 1, 8 * c2 + 7); c3 += 2) {
          for (long c4 = 16 * c0; c4 <= polygym_min(n - 1, 16 * c0 + 15); c4 += 1) {
            for (long c5 = 24 * c1; c5 <= polygym_min(m - 1, 24 * c1 + 23) - 3; c5 += 4) {
              for (long c5_ = c5; c5_ <= c5 + 3; c5_ += 1)
                C[c4][c5_] = C[c4][c5_] + A[c4][c3] * B[c3][c5_];
              for (long c5_ = c5; c5_ <= c5 + 3; c5_ += 1)
                C[c4][c5_] = C[c4][c5_] + A[c4][c3 + 1] * B[c3 + 1][c5_];
            }
            for (long c5 = 24 * c1 + 4 * polygym_floord(polygym_max(0, polygym_min(m - 1, 24 * c1 + 23) - 24 * c1 + 1), 4); c5 <= polygym_min(m - 1, 24 * c1 + 23); c5 += 4) {
              for (long c5_ = c5; c5_ <= polygym_min(c5 + 3, c5 + (polygym_min(m - 1, 24 * c1 + 23) - c5 + 1) - 1); c5_ += 1)
                C[c4][c5_] = C[c4][c5_] + A[c4][c3] * B[c3][c5_];
              for (long c5_ = c5; c5_ <= polygym_min(c5 + 3, c5 + (polygym_min(m - 1, 24 * c1 + 23) - c5 + 1) - 1); c5_ += 1)
                C[c4][c5_] = C[c4][c5_] + A[c4][c3 + 1] * B[c3 + 1][c5_];
            }
          }
        }
        for (long c3 = 8 * c2 + 2 * polygym_floord(polygym_max(0, polygym_min(k - 1, 8 * c2 + 7) - 8 * c2 + 1), 2); c3 <= polygym_min(k - 1, 8 * c2 + 7); c3 += 1) {
          for (long c4 = 16 * c0; c4 <= polygym_min(n - 1, 16 * c0 + 15); c4 += 1) {
            for (long c5 = 24 * c1; c5 <= polygym_min(m - 1, 24 * c1 + 23) - 3; c5 += 4) {
              for (long c5_ = c5; c5_ <= c5 + 3; c5_ += 1)
                C[c4][c5_] = C[c4][c5_] + A[c4][c3] * B[c3][c5_];
            }
            for (long c5 = 24 * c1 + 4 * polygym_floord(polygym_max(0, polygym_min(m - 1, 24 * c1 + 23) - 24 * c1 + 1), 4); c5 <= polygym_min(m - 1, 24 * c1 + 23); c5 += 4) {
              for (long c5_ = c5; c5_ <= polygym_min(c5 + 3, c5 + (polygym_min(m - 1, 24 * c1 + 23) - c5 + 1) - 1); c5_ += 1)
                C[c4][c5_] = C[c4][c5_] + A[c4][c3] * B[c3][c5_];
            }
          }
        }
      }
    }
  }
}
