#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "platform.h"

/* Time loop inside of main, pointers swapped after each step. */
int main(int argc, char *argv[])
{
    int n = 64;
    int steps = 30;
    if (argc > 1) n = atoi(argv[1]);
    if (argc > 2) steps = atoi(argv[2]);
    scalar *cur = malloc(sizeof(scalar) * n * n);
    scalar *nxt = malloc(sizeof(scalar) * n * n);
    int i, j, t;

    for (i = 0; i < n * n; i++)
        cur[i] = (scalar)(i % 17);
    memcpy(nxt, cur, sizeof(scalar) * n * n);

    for (t = 0; t < steps; t++) {
        /* nest: step */
        for (i = 1; i < n - 1; i++) {
            for (j = 1; j < n - 1; j++) {
                nxt[i * n + j] = (scalar)0.2 * (cur[i * n + j] + cur[i * n + j - 1] + cur[i * n + j + 1]
                                                + cur[(i - 1) * n + j] + cur[(i + 1) * n + j]);
            }
        }
        scalar *tmp = cur;
        cur = nxt;
        nxt = tmp;
    }
    double total = 0;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            total += cur[i * n + j] * (i + 1);
    printf("heat_swap %.6f\n", total);
    free(cur);
    free(nxt);
    return 0;
}
