#ifndef PLATFORM_H
#define PLATFORM_H
/* What the compiler and the machine are. */
#if defined(__linux__) && defined(__x86_64__)
#define CACHE_LINE 64
#else
#define CACHE_LINE 32
#endif

#if __STDC_VERSION__ >= 199901L
#define RESTRICT restrict
#else
#define RESTRICT
#endif

#ifdef USE_FLOAT
typedef float scalar;
#else
typedef double scalar;
#endif

#if defined(__GNUC__) && __GNUC__ >= 4
#define ALIGNED(n) __attribute__((aligned(n)))
#define UNUSED __attribute__((unused))
#else
#define ALIGNED(n)
#define UNUSED
#endif
#endif
