#ifndef CONFIG_H
#define CONFIG_H
#ifndef ITERATIONS
#error "ITERATIONS comes from the build: -DITERATIONS=8"
#endif
#if defined(FLUID_SINGLE)
#define FLOAT float
#else
#define FLOAT double
#endif
#endif
