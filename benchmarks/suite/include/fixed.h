#pragma once
#include <stdint.h>
#include <inttypes.h>

/* Q15 arithmetic of a small signal processor. */
typedef int16_t q15_t;
typedef int32_t q31_t;

#define Q15_ONE 32767
#define Q15_MUL(a, b) ((q15_t)(((q31_t)(a) * (q31_t)(b)) >> 15))

#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

ALWAYS_INLINE q15_t sat16(q31_t x)
{
    return (q15_t)(x > 32767 ? 32767 : x < -32768 ? -32768 : x);
}
