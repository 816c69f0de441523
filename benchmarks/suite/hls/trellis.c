/* Best path through a trellis, costs as bytes; the decisions are kept and followed back. */
#include <stdio.h>
#include <stdint.h>

#define STEPS 80
#define NODES 12

typedef uint32_t cost_t;

void trellis(uint8_t arc[NODES][NODES], uint8_t seen[STEPS][NODES], uint8_t best[STEPS])
{
    cost_t cost[STEPS][NODES];
    uint8_t from[STEPS][NODES];
    int t, to, f;

    for (to = 0; to < NODES; to++)
        cost[0][to] = seen[0][to];

    /* nest: forward */
    STEP: for (t = 1; t < STEPS; t++) {
        NODE: for (to = 0; to < NODES; to++) {
            cost_t least = cost[t - 1][0] + arc[0][to];
            uint8_t who = 0;
            PRED: for (f = 1; f < NODES; f++) {
                cost_t c = cost[t - 1][f] + arc[f][to];
                if (c < least) {
                    least = c;
                    who = (uint8_t)f;
                }
            }
            cost[t][to] = least + seen[t][to];
            from[t][to] = who;
        }
    }

    uint8_t last = 0;
    for (to = 1; to < NODES; to++)
        if (cost[STEPS - 1][to] < cost[STEPS - 1][last])
            last = (uint8_t)to;
    best[STEPS - 1] = last;
    /* nest: back */
    BACK: for (t = STEPS - 1; t > 0; t--)
        best[t - 1] = from[t][best[t]];
}

int main(void)
{
    static uint8_t arc[NODES][NODES], seen[STEPS][NODES], best[STEPS];
    unsigned long h = 17;
    for (int i = 0; i < NODES * NODES; i++) arc[i / NODES][i % NODES] = (uint8_t)(i * 17 % 29);
    for (int i = 0; i < STEPS * NODES; i++) seen[i / NODES][i % NODES] = (uint8_t)(i * i % 31);
    trellis(arc, seen, best);
    for (int i = 0; i < STEPS; i++) h = h * 31 + best[i];
    printf("trellis %lu\n", h);
    return 0;
}
