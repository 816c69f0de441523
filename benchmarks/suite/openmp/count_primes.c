#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_division(int n)
{
    int count = 0;
    /* nest: division */
    #pragma omp parallel for schedule(dynamic, 16) reduction(+ : count)
    for (int i = 2; i < n; i++) {
        int prime = 1;
        for (int d = 2; d * d <= i; d++)
            if (i % d == 0) {
                prime = 0;
                break;
            }
        count += prime;
    }
    return count;
}

static int by_sieve(char *mark, int n)
{
    memset(mark, 1, n);
    /* nest: sieve */
    for (int p = 2; p * p < n; p++)
        if (mark[p])
            for (int m = p * p; m < n; m += p)
                mark[m] = 0;
    int count = 0;
    /* nest: count */
    for (int i = 2; i < n; i++)
        count += mark[i];
    return count;
}

static double integral(int steps)
{
    double width = 1.0 / steps, area = 0;
    /* nest: integral */
#pragma omp parallel for simd reduction(+ : area)
    for (int i = 0; i < steps; i++) {
        double x = (i + 0.5) * width;
        area += 4.0 / (1.0 + x * x);
    }
    return area * width;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 5000;
    if (n < 2)
        return 1;
    char *mark = malloc(n);
    printf("count_primes %d %d %.6f\n", by_division(n), by_sieve(mark, n), integral(n));
    free(mark);
    return 0;
}
