/* tile=8x16 unroll_jam=1 vector_bits=256 vector_copies=1 */
#define polygym_min(a, b) ((a) < (b) ? (a) : (b))
#define polygym_max(a, b) ((a) > (b) ? (a) : (b))
#define polygym_floord(a, b) ((a) < 0 ? -((-(a) + (b) - 1) / (b)) : (a) / (b))

void f(int n, int m, int k, double R[n][m], double A[k][n][k], double B[k][k][m])
{
  for (long c0 = 0; c0 <= (n - 1) / 8; c0 += 1) {
    for (long c1 = 0; c1 <= (m - 1) / 16; c1 += 1) {
      for (long c2 = 0; c2 < k; c2 += 1) {
        for (long c3 = 0; c3 <= (k - 1) / 16; c3 += 1) {
          for (long c4 = 8 * c0; c4 <= polygym_min(n - 1, 8 * c0 + 7); c4 += 1) {
            for (long c5 = 16 * c1; c5 <= polygym_min(m - 1, 16 * c1 + 15) - 3; c5 += 4) {
              for (long c6 = 16 * c3; c6 <= polygym_min(k - 1, 16 * c3 + 15); c6 += 1) {
                for (long c5_ = c5; c5_ <= c5 + 3; c5_ += 1)
                  R[c4][c5_] = R[c4][c5_] + A[c2][c4][c6] * B[c6][c2][c5_];
              }
            }
            for (long c5 = 16 * c1 + 4 * polygym_floord(polygym_max(0, polygym_min(m - 1, 16 * c1 + 15) - 16 * c1 + 1), 4); c5 <= polygym_min(m - 1, 16 * c1 + 15); c5 += 4) {
              for (long c6 = 16 * c3; c6 <= polygym_min(k - 1, 16 * c3 + 15); c6 += 1) {
                for (long c5_ = c5; c5_ <= polygym_min(c5 + 3, c5 + (polygym_min(m - 1, 16 * c1 + 15) - c5 + 1) - 1); c5_ += 1)
                  R[c4][c5_] = R[c4][c5_] + A[c2][c4][c6] * B[c6][c2][c5_];
              }
            }
          }
        }
      }
    }
  }
}
