#include <stdio.h>
#define SIDE 24
typedef int square[SIDE][SIDE];

static unsigned last = 9;
static int next_value(void) { last = last * 75u % 65537u; return (int)last; }

static void fill(square m)
{
    int r, c;
    /* nest: random */
    for (r = 0; r < SIDE; r++)
        for (c = 0; c < SIDE; c++)
            m[r][c] = next_value() % 50 - 25;
}

static void product(square p, square q, square pq)
{
    register int r, c, k;
    /* nest: product */
    for (r = 0; r < SIDE; r++)
        for (c = 0; c < SIDE; c++) {
            pq[r][c] = 0;
            for (k = 0; k < SIDE; k++)
                pq[r][c] += p[r][k] * q[k][c];
        }
}

/* Sixteen by sixteen at most, with the size in a global. */
int order = 12;
long left[16][16], right[16][16], both[16][16];

void product_of_order(void)
{
    int i, j, k;
    /* nest: some */
    outer: for (i = 0; i < order; i++) {
        inner: for (j = 0; j < order; j++) {
            long t = 0;
            for (k = 0; k < order; k++) t += left[i][k] * right[k][j];
            both[i][j] = t;
        }
    }
}

int main(void)
{
    static square a, b, c;
    long sum = 0;
    fill(a);
    fill(b);
    product(a, b, c);
    for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++) { left[i][j] = i - j; right[i][j] = i * j % 5; }
    product_of_order();
    for (int i = 0; i < SIDE; i++) for (int j = 0; j < SIDE; j++) sum += c[i][j] * (long)(i + 2 * j);
    for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++) sum += both[i][j];
    printf("matmul_int %ld\n", sum);
    return 0;
}
