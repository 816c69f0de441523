// n=9
#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdnoreturn.h>
static_assert(sizeof(int) == 4, "int");
_Static_assert(sizeof(double) == 8, "double");
static _Alignas(64) double table[16];
alignas(32) float other[8];
static _Thread_local int own;
static __thread int of_gnu;
static atomic_int done = ATOMIC_VAR_INIT(0);
_Atomic(int) flag;
noreturn void stop(void);
struct padded { _Alignas(16) float v[4]; };
[[maybe_unused]] static int unused_;
void kernel(int n, double x[restrict n]) {
  _Alignas(32) double w[4] = {1, 2, 3, 4};
  _Static_assert(sizeof(w) == 32, "w");
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = w[i % 4] * table[i % 16] + x[i];
#pragma endscop
  atomic_fetch_add(&done, 1);
}
