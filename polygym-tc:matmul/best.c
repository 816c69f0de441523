/* matmul: [M, K, N] -> { S0[m, n] -> [m, n, 0, 0]; S1[m, n, k] -> [m, n, k, 1] }, default */
#define polygym_min(a, b) ((a) < (b) ? (a) : (b))
#define polygym_max(a, b) ((a) > (b) ? (a) : (b))
#define polygym_floord(a, b) ((a) < 0 ? -((-(a) + (b) - 1) / (b)) : (a) / (b))

void matmul(int M, int K, int N, float A[M][K], float B[K][N], float C[M][N])
{
  for (long c0 = 0; c0 <= (M - 1) / 64; c0 += 1) {
    for (long c1 = 0; c1 <= (N - 1) / 256; c1 += 1) {
      for (long c3 = 64 * c0; c3 <= polygym_min(M - 1, 64 * c0 + 63) - 3; c3 += 4) {
        for (long c4 = 256 * c1; c4 <= polygym_min(N - 1, 256 * c1 + 255) - 23; c4 += 24) {
          for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
            C[c3][c4_] = 0.0f;
          for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
            C[c3][c4_] = 0.0f;
          for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
            C[c3][c4_] = 0.0f;
          for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
            C[c3 + 1][c4_] = 0.0f;
          for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
            C[c3 + 1][c4_] = 0.0f;
          for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
            C[c3 + 1][c4_] = 0.0f;
          for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
            C[c3 + 2][c4_] = 0.0f;
          for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
            C[c3 + 2][c4_] = 0.0f;
          for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
            C[c3 + 2][c4_] = 0.0f;
          for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
            C[c3 + 3][c4_] = 0.0f;
          for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
            C[c3 + 3][c4_] = 0.0f;
          for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
            C[c3 + 3][c4_] = 0.0f;
        }
        for (long c4 = 256 * c1 + 24 * polygym_floord(polygym_max(0, polygym_min(N - 1, 256 * c1 + 255) - 256 * c1 + 1), 24); c4 <= polygym_min(N - 1, 256 * c1 + 255); c4 += 8) {
          for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
            C[c3][c4_] = 0.0f;
          for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
            C[c3 + 1][c4_] = 0.0f;
          for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
            C[c3 + 2][c4_] = 0.0f;
          for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
            C[c3 + 3][c4_] = 0.0f;
        }
      }
      for (long c3 = 64 * c0 + 4 * polygym_floord(polygym_max(0, polygym_min(M - 1, 64 * c0 + 63) - 64 * c0 + 1), 4); c3 <= polygym_min(M - 1, 64 * c0 + 63); c3 += 1) {
        for (long c4 = 256 * c1; c4 <= polygym_min(N - 1, 256 * c1 + 255) - 23; c4 += 24) {
          for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
            C[c3][c4_] = 0.0f;
          for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
            C[c3][c4_] = 0.0f;
          for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
            C[c3][c4_] = 0.0f;
        }
        for (long c4 = 256 * c1 + 24 * polygym_floord(polygym_max(0, polygym_min(N - 1, 256 * c1 + 255) - 256 * c1 + 1), 24); c4 <= polygym_min(N - 1, 256 * c1 + 255); c4 += 8) {
          for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
            C[c3][c4_] = 0.0f;
        }
      }
      for (long c2 = 0; c2 <= (K - 1) / 256; c2 += 1) {
        for (long c3 = 64 * c0; c3 <= polygym_min(M - 1, 64 * c0 + 63) - 3; c3 += 4) {
          for (long c4 = 256 * c1; c4 <= polygym_min(N - 1, 256 * c1 + 255) - 23; c4 += 24) {
            for (long c5 = 256 * c2; c5 <= polygym_min(K - 1, 256 * c2 + 255); c5 += 1) {
              for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
                C[c3 + 1][c4_] = C[c3 + 1][c4_] + A[c3 + 1][c5] * B[c5][c4_];
              for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
                C[c3 + 1][c4_] = C[c3 + 1][c4_] + A[c3 + 1][c5] * B[c5][c4_];
              for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
                C[c3 + 1][c4_] = C[c3 + 1][c4_] + A[c3 + 1][c5] * B[c5][c4_];
              for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
                C[c3 + 2][c4_] = C[c3 + 2][c4_] + A[c3 + 2][c5] * B[c5][c4_];
              for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
                C[c3 + 2][c4_] = C[c3 + 2][c4_] + A[c3 + 2][c5] * B[c5][c4_];
              for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
                C[c3 + 2][c4_] = C[c3 + 2][c4_] + A[c3 + 2][c5] * B[c5][c4_];
              for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
                C[c3 + 3][c4_] = C[c3 + 3][c4_] + A[c3 + 3][c5] * B[c5][c4_];
              for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
                C[c3 + 3][c4_] = C[c3 + 3][c4_] + A[c3 + 3][c5] * B[c5][c4_];
              for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
                C[c3 + 3][c4_] = C[c3 + 3][c4_] + A[c3 + 3][c5] * B[c5][c4_];
            }
          }
          for (long c4 = 256 * c1 + 24 * polygym_floord(polygym_max(0, polygym_min(N - 1, 256 * c1 + 255) - 256 * c1 + 1), 24); c4 <= polygym_min(N - 1, 256 * c1 + 255); c4 += 8) {
            for (long c5 = 256 * c2; c5 <= polygym_min(K - 1, 256 * c2 + 255); c5 += 1) {
              for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
                C[c3 + 1][c4_] = C[c3 + 1][c4_] + A[c3 + 1][c5] * B[c5][c4_];
              for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
                C[c3 + 2][c4_] = C[c3 + 2][c4_] + A[c3 + 2][c5] * B[c5][c4_];
              for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
                C[c3 + 3][c4_] = C[c3 + 3][c4_] + A[c3 + 3][c5] * B[c5][c4_];
            }
          }
        }
        for (long c3 = 64 * c0 + 4 * polygym_floord(polygym_max(0, polygym_min(M - 1, 64 * c0 + 63) - 64 * c0 + 1), 4); c3 <= polygym_min(M - 1, 64 * c0 + 63); c3 += 1) {
          for (long c4 = 256 * c1; c4 <= polygym_min(N - 1, 256 * c1 + 255) - 23; c4 += 24) {
            for (long c5 = 256 * c2; c5 <= polygym_min(K - 1, 256 * c2 + 255); c5 += 1) {
              for (long c4_ = c4; c4_ <= c4 + 7; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4 + 8; c4_ <= c4 + 15; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
              for (long c4_ = c4 + 16; c4_ <= c4 + 23; c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
            }
          }
          for (long c4 = 256 * c1 + 24 * polygym_floord(polygym_max(0, polygym_min(N - 1, 256 * c1 + 255) - 256 * c1 + 1), 24); c4 <= polygym_min(N - 1, 256 * c1 + 255); c4 += 8) {
            for (long c5 = 256 * c2; c5 <= polygym_min(K - 1, 256 * c2 + 255); c5 += 1) {
              for (long c4_ = c4; c4_ <= polygym_min(c4 + 7, c4 + (polygym_min(N - 1, 256 * c1 + 255) - c4 + 1) - 1); c4_ += 1)
                C[c3][c4_] = C[c3][c4_] + A[c3][c5] * B[c5][c4_];
            }
          }
        }
      }
    }
  }
}
