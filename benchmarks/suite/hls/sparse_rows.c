#include "checks.h"

enum { ROWS = 200, ENTRIES = 1600, WIDTH = 8 };

/* Row r has the entries first[r] … first[r + 1] - 1. */
void by_rows(double value[ENTRIES], int column[ENTRIES], int first[ROWS + 1],
             double x[ROWS], double y[ROWS])
{
    /* nest: ragged */
    row: for (int r = 0; r < ROWS; r++) {
        double dot = 0;
        const int begin = first[r], end = first[r + 1];
        entry: for (int e = begin; e < end; e++)
            dot += value[e] * x[column[e]];
        y[r] = dot;
    }
}

/* All rows have the same number of entries. */
void by_width(double value[ROWS * WIDTH], int column[ROWS * WIDTH], double x[ROWS], double y[ROWS])
{
    int r, w;
    /* nest: padded */
    padded_row: for (r = 0; r < ROWS; r++) {
        double dot = y[r];
        padded_entry: for (w = 0; w < WIDTH; w++)
            dot += value[r * WIDTH + w] * x[column[r * WIDTH + w]];
        y[r] = dot;
    }
}

int main(void)
{
    static double value[ENTRIES], x[ROWS], y[ROWS], z[ROWS];
    static int column[ENTRIES], first[ROWS + 1];
    rng_t r = {7};
    double sum = 0;
    for (int i = 0; i < ENTRIES; i++) {
        value[i] = rng_unit(&r);
        column[i] = (int)(rng_next(&r) % ROWS);
    }
    for (int i = 0; i <= ROWS; i++)
        first[i] = i * WIDTH;
    for (int i = 0; i < ROWS; i++)
        x[i] = rng_unit(&r) - 0.5;
    by_rows(value, column, first, x, y);
    by_width(value, column, x, z);
    for (int i = 0; i < ROWS; i++)
        sum += y[i] * (i % 5) + z[i] * 0.5;
    report("sparse_rows", sum);
    return 0;
}
