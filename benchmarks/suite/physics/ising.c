#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define L 32
static signed char spin[L + 2][L + 2];
static double accept[5];
static uint64_t state = 88172645463325252ull;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void sweep(int parity)
{
    /* nest: metropolis */
    for (int i = 1; i <= L; i++)
        for (int j = 1 + ((i + parity) & 1); j <= L; j += 2) {
            int sum = spin[i - 1][j] + spin[i + 1][j] + spin[i][j - 1] + spin[i][j + 1];
            int cost = spin[i][j] * sum;
            if (cost <= 0 || uniform() < accept[cost])
                spin[i][j] = -spin[i][j];
        }
}

static void wrap(void)
{
    /* nest: halo */
    for (int i = 1; i <= L; i++) {
        spin[0][i] = spin[L][i];
        spin[L + 1][i] = spin[1][i];
        spin[i][0] = spin[i][L];
        spin[i][L + 1] = spin[i][1];
    }
}

static int magnetisation(void)
{
    int m = 0;
    /* nest: sum */
    for (int i = 1; i <= L; i++)
        for (int j = 1; j <= L; j++)
            m += spin[i][j];
    return m;
}

int main(void)
{
    for (int i = 0; i < L + 2; i++)
        for (int j = 0; j < L + 2; j++)
            spin[i][j] = (i * 3 + j * 5) % 7 < 4 ? 1 : -1;
    for (int c = 0; c < 5; c++)
        accept[c] = exp(-2.0 * c / 2.3);
    for (int t = 0; t < 40; t++) {
        wrap();
        sweep(0);
        wrap();
        sweep(1);
    }
    printf("ising %d\n", magnetisation());
    return 0;
}
