#include "chem.h"

int main(int argc, char **argv)
{
    field_t f = {size_argument(argc, argv, 1, 30), 20, {0}, 0};
    int n = f.nx * f.ny;
    for (int s = 0; s < SPECIES; s++) {
        f.c[s] = malloc(n * sizeof(double));
        for (int i = 0; i < n; i++)
            f.c[s][i] = (i * (s + 2)) % 13;
    }
    f.tmp = malloc(n * sizeof *f.tmp);
    for (int t = 0; t < 6; t++) {
        for (int s = 0; s < SPECIES; s++)
            spread(&f, s, default_rates.diff[s]);
        react(&f, &default_rates, 0.05);
    }
    report("reactor", total(&f));
    return 0;
}
