/* tile=16x24x8 unroll_jam=2 vector_bits=256 vector_copies=2 threads=2 */
#define polygym_min(a, b) ((a) < (b) ? (a) : (b))
#define polygym_max(a, b) ((a) > (b) ? (a) : (b))
#define polygym_floord(a, b) ((a) < 0 ? -((-(a) + (b) - 1) / (b)) : (a) / (b))

void f(int n, int m, int k, double C[n][m], double A[n][k], double B[k][m], double beta)
{
  #pragma omp parallel for schedule(dynamic) num_threads(2)
  for (long c0 = 0; c0 <= (n - 1) / 16; c0 += 1) {
    for (long c1 = 0; c1 <= (m - 1) / 24; c1 += 1) {
      for (long c3 = 16 * c0; c3 < polygym_min(n - 1, 16 * c0 + 15); c3 += 2) {
        for (long c4 = 24 * c1; c4 <= polygym_min(m - 1, 24 * c1 + 23) - 7; c4 += 8) {
          for (long c4_ = c4; c4_ <= c4 + 3; c4_ += 1)
            C[c3][c4_] = C[c3][c4_] * beta;
          for (long c4_ = c4 + 4; c4_ <= c4 + 7; c4_ += 1)
            C[c3][c4_] = C[c3][c4_] * beta;
          for (long c4_ = c4; c4_ <= c4 + 3; c4_ += 1)
            C[c3 + 1][c4_] = C[c3 + 1][c4_] * beta;
          for (long c4_ = c4 + 4; c4_ <= c4 + 7; c4_ += 1)
            C[c3 + 1][c4_] = C[c3 + 1][c4_] * beta;
        }
        for (long c4 = 24 * c1 + 8 * polygym_floord(polygym_max(0, polygym_min(m - 1, 24 * c1 + 23) - 24 * c1 + 1), 8); c4 <= polygym_min(m - 1, 24 * c1 + 23); c4 += 4) {
          for (long c4_ = c4; c4_ <= polygym_min(c4 + 3, c4 + (polygym_min(m - 1, 24 * c1 + 23) - c4 + 1) - 1); c4_ += 1)
            C[c3][c4_] = C[c3][c4_] * beta;
          for (long c4_ = c4; c4_ <= polygym_min(c4 + 3, c4 + (polygym_min(m - 1, 24 * c1 + 23) - c4 + 1) - 1); c4_ += 1)
            C[c3 + 1][c4_] = C[c3 + 1][c4_] * beta;
        }
      }
      for (long c3 = 16 * c0 + 2 * polygym_floord(polygym_max(0, polygym_min(n - 1, 16 * c0 + 15) - 16 * c0 + 1), 2); c3 <= polygym_min(n - 1, 16 * c0 + 15); c3 += 1) {
        for (long c4 = 24 * c1; c4 <= polygym_min(m - 1, 24 * c1 + 23) - 7; c4 += 8) {
          for (long c4_ = c4; c4_ <= c4 + 3; c4_ += 1)
            C[c3][c4_] = C[c3][c4_] * beta;
          for (long c4_ = c4 + 4; c4_ <= c4 + 7; c4_ += 1)
            C[c3][c4_] = C[c3][c4_] * beta;
        }
        for (long c4 = 24 * c1 + 8 * polygym_floord(polygym_max(0, polygym_min(m - 1, 24 * c1 + 23) - 24 * c1 + 1), 8); c4 <= polygym_min(m - 1, 24 * c1 + 23); c4 += 4) {
          for (long c4_ = c4; c4_ <= polygym_min(c4 + 3, c4 + (polygym_min(m - 1, 24 * c1 + 23) - c4 + 1) - 1); c4_ += 1)
            C[c3][c4_] = C[c3][c4_] * beta;
        }
      }
      for (long c2 = 0; c2 <= (k - 1) / 8; c2 += 1) {
        for (long c3 = 16 * c0; c3 < polygym_min(n - 1, 16 * c0 + 15); c3 += 2) {
          for (long c4 = 24 * c1; c4 <= polygym_min(m - 1, 24 * c1 + 23) - 7; c4 += 8) {
            for (long c5 = 8 * c2; c5 <= polygym_min(k - 1, 8 * c2 + 7); c5 += 1) {
              for (long c4_ = c4; c4_ <= c4 + 3; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4 + 4; c4_ <= c4 + 7; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4; c4_ <= c4 + 3; c4_ += 1)
                C[c3 + 1][c4_] = C[c3 + 1][c4_] + A[c3 + 1][c5] * B[c5][c4_];
              for (long c4_ = c4 + 4; c4_ <= c4 + 7; c4_ += 1)
                C[c3 + 1][c4_] = C[c3 + 1][c4_] + A[c3 + 1][c5] * B[c5][c4_];
            }
          }
          for (long c4 = 24 * c1 + 8 * polygym_floord(polygym_max(0, polygym_min(m - 1, 24 * c1 + 23) - 24 * c1 + 1), 8); c4 <= polygym_min(m - 1, 24 * c1 + 23); c4 += 4) {
            for (long c5 = 8 * c2; c5 <= polygym_min(k - 1, 8 * c2 + 7); c5 += 1) {
              for (long c4_ = c4; c4_ <= polygym_min(c4 + 3, c4 + (polygym_min(m - 1, 24 * c1 + 23) - c4 + 1) - 1); c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4; c4_ <= polygym_min(c4 + 3, c4 + (polygym_min(m - 1, 24 * c1 + 23) - c4 + 1) - 1); c4_ += 1)
                C[c3 + 1][c4_] = C[c3 + 1][c4_] + A[c3 + 1][c5] * B[c5][c4_];
            }
          }
        }
        for (long c3 = 16 * c0 + 2 * polygym_floord(polygym_max(0, polygym_min(n - 1, 16 * c0 + 15) - 16 * c0 + 1), 2); c3 <= polygym_min(n - 1, 16 * c0 + 15); c3 += 1) {
          for (long c4 = 24 * c1; c4 <= polygym_min(m - 1, 24 * c1 + 23) - 7; c4 += 8) {
            for (long c5 = 8 * c2; c5 <= polygym_min(k - 1, 8 * c2 + 7); c5 += 1) {
              for (long c4_ = c4; c4_ <= c4 + 3; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4 + 4; c4_ <= c4 + 7; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
            }
          }
          for (long c4 = 24 * c1 + 8 * polygym_floord(polygym_max(0, polygym_min(m - 1, 24 * c1 + 23) - 24 * c1 + 1), 8); c4 <= polygym_min(m - 1, 24 * c1 + 23); c4 += 4) {
            for (long c5 = 8 * c2; c5 <= polygym_min(k - 1, 8 * c2 + 7); c5 += 1) {
              for (long c4_ = c4; c4_ <= polygym_min(c4 + 3, c4 + (polygym_min(m - 1, 24 * c1 + 23) - c4 + 1) - 1); c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
            }
          }
        }
      }
    }
  }
}
