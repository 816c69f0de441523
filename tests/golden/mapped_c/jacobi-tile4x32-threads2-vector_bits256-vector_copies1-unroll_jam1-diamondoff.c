/* tile=4x32 threads=2 vector_bits=256 vector_copies=1 unroll_jam=1 diamond=off */
#define polygym_min(a, b) ((a) < (b) ? (a) : (b))
#define polygym_max(a, b) ((a) > (b) ? (a) : (b))
#define polygym_floord(a, b) ((a) < 0 ? -((-(a) + (b) - 1) / (b)) : (a) / (b))

void f(int t, int n, double A[n][n], double B[n][n])
{
  for (long c0 = 0; c0 <= polygym_floord(10 * t + n - 11, 32); c0 += 1) {
    #pragma omp parallel for schedule(dynamic) num_threads(2)
    for (long c1 = polygym_max(c0 + polygym_floord(-t, 4) + 1, (c0 + 1) / 5); c1 <= polygym_min(polygym_min(c0, (2 * t + n - 3) / 32), (n + 8 * c0 + 5) / 40); c1 += 1) {
      for (long c2 = polygym_max((c0 - c1) / 4, 2 * c1 - (n + 4 * c0 - 4 * c1 + 16) / 16); c2 <= polygym_min(polygym_min((2 * t + n - 3) / 32, (n + 8 * c0 - 8 * c1 + 5) / 32), (n + 4 * c0 + 12 * c1 + 16) / 32); c2 += 1) {
        for (long c3 = polygym_max(polygym_max(4 * c0 - 4 * c1, -n + 16 * c2 + n / 2 + 1), -n + 16 * c1 + n / 2 + 1); c3 <= polygym_min(t - 1, 4 * c0 - 4 * c1 + 3); c3 += 1) {
          for (long c4 = polygym_max(32 * c1, 2 * c3 + 1); c4 <= polygym_min(32 * c1 + 31, n + 2 * c3 - 2); c4 += 1) {
            for (long c5 = polygym_max(32 * c2, 2 * c3 + 1); c5 <= polygym_min(32 * c2 + 31, n + 2 * c3 - 2) - 3; c5 += 4) {
              for (long c5_ = c5; c5_ <= c5 + 3; c5_ += 1)
                B[-2 * c3 + c4][-2 * c3 + c5_] = 0.25 * (A[-2 * c3 + c4][-2 * c3 + c5_ - 1] + A[-2 * c3 + c4][-2 * c3 + c5_ + 1] + A[-2 * c3 + c4 - 1][-2 * c3 + c5_] + A[-2 * c3 + c4 + 1][-2 * c3 + c5_]);
            }
            for (long c5 = polygym_max(32 * c2, 2 * c3 + 1) + 4 * polygym_floord(polygym_max(0, polygym_min(32 * c2 + 31, n + 2 * c3 - 2) - polygym_max(32 * c2, 2 * c3 + 1) + 1), 4); c5 <= polygym_min(32 * c2 + 31, n + 2 * c3 - 2); c5 += 4) {
              for (long c5_ = c5; c5_ <= polygym_min(c5 + 3, c5 + (polygym_min(32 * c2 + 31, n + 2 * c3 - 2) - c5 + 1) - 1); c5_ += 1)
                B[-2 * c3 + c4][-2 * c3 + c5_] = 0.25 * (A[-2 * c3 + c4][-2 * c3 + c5_ - 1] + A[-2 * c3 + c4][-2 * c3 + c5_ + 1] + A[-2 * c3 + c4 - 1][-2 * c3 + c5_] + A[-2 * c3 + c4 + 1][-2 * c3 + c5_]);
            }
          }
          for (long c4 = polygym_max(32 * c1, 2 * c3 + 2); c4 <= polygym_min(32 * c1 + 31, n + 2 * c3 - 1); c4 += 1) {
            for (long c5 = polygym_max(32 * c2, 2 * c3 + 2); c5 <= polygym_min(32 * c2 + 31, n + 2 * c3 - 1) - 3; c5 += 4) {
              for (long c5_ = c5; c5_ <= c5 + 3; c5_ += 1)
                A[-2 * c3 + c4 - 1][-2 * c3 + c5_ - 1] = B[-2 * c3 + c4 - 1][-2 * c3 + c5_ - 1];
            }
            for (long c5 = polygym_max(32 * c2, 2 * c3 + 2) + 4 * polygym_floord(polygym_max(0, polygym_min(32 * c2 + 31, n + 2 * c3 - 1) - polygym_max(32 * c2, 2 * c3 + 2) + 1), 4); c5 <= polygym_min(32 * c2 + 31, n + 2 * c3 - 1); c5 += 4) {
              for (long c5_ = c5; c5_ <= polygym_min(c5 + 3, c5 + (polygym_min(32 * c2 + 31, n + 2 * c3 - 1) - c5 + 1) - 1); c5_ += 1)
                A[-2 * c3 + c4 - 1][-2 * c3 + c5_ - 1] = B[-2 * c3 + c4 - 1][-2 * c3 + c5_ - 1];
            }
          }
        }
      }
    }
  }
}
