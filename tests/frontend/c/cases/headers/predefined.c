// n=9
#include <limits.h>
#if !defined(__STDC__) || __STDC_VERSION__ < 199901L || !defined(__linux__) || !defined(__GNUC__)
#error "another compiler"
#endif
#if defined(__has_include) && __has_include(<stdint.h>) && !__has_include("not_there.h")
#include <stdint.h>
#endif
#if __INT_MAX__ != INT_MAX || __SIZEOF_POINTER__ != 8 || __CHAR_BIT__ != 8 || !defined(__LP64__)
#error "other sizes"
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && defined __DBL_EPSILON__
#define SHIFT 3
#else
#error "another order"
#endif
#if defined(__has_attribute)
#if __has_attribute(noinline)
#define NOINLINE __attribute__((noinline))
#endif
#endif
#ifndef NOINLINE
#define NOINLINE
#endif
#define likely(x) __builtin_expect(!!(x), 1)
NOINLINE void kernel(int n, __UINT32_TYPE__ s[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    if (likely(i > 1))
      s[i] = (s[i] << SHIFT) ^ (s[i] >> 5);
    y[i] = y[i] * __DBL_EPSILON__ + __INT8_MAX__;
  }
#pragma endscop
}
