// n=9
#include <stdint.h>
static inline uint64_t now(void) {
  uint32_t low = 0, high = 0;
#ifdef __x86_64__
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high)::"memory");
#endif
  return (uint64_t)high << 32 | low;
}
extern int elsewhere(int) __asm__("_elsewhere");
void kernel(int n, double x[n]) {
  int k = 3;
  uint64_t start = now();
#ifdef __x86_64__
  asm("incl %[k]" : [k] "+r"(k) : : "cc");
#else
  k++;
#endif
#pragma scop
  for (int i = 0; i < n; i++)
    if (i < k)
      x[i] = 2 * x[i];
#pragma endscop
  asm volatile("" : : "r"(start) : "memory");
}
