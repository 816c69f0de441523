/* Product of two matrices in external memory, tile by tile through local buffers. */
#include <string.h>
#include "tile_product.h"
#include "checks.h"

void tile_product(const elem *left, const elem *right, elem *out)
{
    elem acc[TILE][TILE];

    /* nest: tiles */
    ROWS: for (int tr = 0; tr < TILES; tr++)
        COLS: for (int tc = 0; tc < TILES; tc++) {
            CLEAR: for (int r = 0; r < TILE; r++)
                for (int c = 0; c < TILE; c++)
                    acc[r][c] = 0;
            DEPTH: for (int td = 0; td < TILES; td++) {
                MAC: for (int r = 0; r < TILE; r++)
                    for (int d = 0; d < TILE; d++) {
                        elem held = left[(tr * TILE + r) * DIM + td * TILE + d];
                        for (int c = 0; c < TILE; c++)
                            acc[r][c] += held * right[(td * TILE + d) * DIM + tc * TILE + c];
                    }
            }
            STORE: for (int r = 0; r < TILE; r++)
                for (int c = 0; c < TILE; c++)
                    out[(tr * TILE + r) * DIM + tc * TILE + c] = acc[r][c];
        }
}

static elem a[DIM * DIM], b[DIM * DIM], c[DIM * DIM];

int main(void)
{
    double total = 0;
    for (int i = 0; i < DIM * DIM; i++) {
        a[i] = (elem)(i * 7 % 13) - 6;
        b[i] = (elem)(i * 5 % 11) * 0.25f;
    }
    tile_product(a, b, c);
    for (int i = 0; i < DIM * DIM; i++)
        total += c[i] * (i % 3 + 1);
    report("tile_product", total);
    return 0;
}
