#include "checks.h"

typedef int32_t cell;
#define NX 20
#define NY 24
#define NZ 28
#define CELLS (NX * NY * NZ)
#define OFFSET(x, y, z) (((z) * NY + (y)) * NX + (x))

/* One sweep over a cube that the host sends as one flat port, integers in fixed point. */
void heat_cube(const cell weight[2], const cell before[CELLS], cell after[CELLS])
{
    int x, y, z;

    /* nest: copy */
    copy_all: for (z = 0; z < CELLS; ++z)
        after[z] = before[z];

    /* nest: sweep */
    planes: for (z = 1; z < NZ - 1; ++z) {
        lines: for (y = 1; y < NY - 1; ++y) {
            cells: for (x = 1; x < NX - 1; ++x) {
                cell near = before[OFFSET(x - 1, y, z)] + before[OFFSET(x + 1, y, z)];
                near += before[OFFSET(x, y - 1, z)] + before[OFFSET(x, y + 1, z)];
                near += before[OFFSET(x, y, z - 1)] + before[OFFSET(x, y, z + 1)];
                after[OFFSET(x, y, z)] = (weight[0] * before[OFFSET(x, y, z)] + weight[1] * near) >> 4;
            }
        }
    }
}

int main(void)
{
    static cell now[CELLS], then[CELLS];
    const cell weight[2] = {4, 2};
    long total = 0;
    for (int i = 0; i < CELLS; i++)
        now[i] = i * 37 % 1001;
    for (int step = 0; step < 3; step++) {
        heat_cube(weight, now, then);
        heat_cube(weight, then, now);
    }
    for (int i = 0; i < CELLS; i++)
        total += (long)now[i] * (i % 7);
    printf("heat_cube %ld\n", total);
    return 0;
}
