/* Deterministic numbers and checksums, used by most drivers. */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct rng { uint32_t state; } rng_t;

static inline uint32_t rng_next(rng_t *r)
{
    r->state = r->state * 1664525u + 1013904223u;
    return r->state >> 8;
}

static inline double rng_unit(rng_t *r) { return (double)(rng_next(r) & 0xffff) / 65536.0; }

static inline int size_argument(int argc, char **argv, int place, int usual)
{
    return argc > place ? atoi(argv[place]) : usual;
}

static inline void report(const char *name, double value) { printf("%s %.6g\n", name, value); }

#endif
