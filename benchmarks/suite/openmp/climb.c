#include <stdio.h>
#include <stdlib.h>
#include "picture.h"

/* Cheapest way through a wall, line by line, two lines that change places. */
static int *wall, *result;
static int **line;
static int rows = 60, cols = 80;

static void climb(int *src, int *dst)
{
    for (int t = 0; t < rows - 1; t++) {
        int *temp = src;
        src = dst;
        dst = temp;
        /* nest: line */
        #pragma omp parallel for
        for (int n = 0; n < cols; n++) {
            int least = src[n];
            if (n > 0)
                least = MIN(least, src[n - 1]);
            if (n < cols - 1)
                least = MIN(least, src[n + 1]);
            dst[n] = line[t + 1][n] + least;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 2) { cols = atoi(argv[1]); rows = atoi(argv[2]); }
    wall = malloc(sizeof(int) * rows * cols);
    line = malloc(sizeof(int *) * rows);
    result = malloc(sizeof(int) * cols);
    int *other = malloc(sizeof(int) * cols);
    for (int n = 0; n < rows; n++) line[n] = wall + cols * n;
    unsigned s = 9;
    /* nest: rand */
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            s = s * 69069u + 1u;
            line[i][j] = (int)(s >> 16) % 10;
        }
    for (int j = 0; j < cols; j++) { result[j] = line[0][j]; other[j] = 0; }
    climb(other, result);
    long sum = 0;
    for (int j = 0; j < cols; j++) sum += result[j] * (j % 3 + 1) + other[j];
    printf("climb %ld\n", sum);
    return 0;
}
