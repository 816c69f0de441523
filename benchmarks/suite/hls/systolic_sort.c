#include <stdio.h>
#define KEYS 128

/* Exchange of neighbours, even and odd pairs in turn: as many phases as keys. */
void systolic_sort(int key[KEYS])
{
    /* nest: exchange */
    PHASE: for (int phase = 0; phase < KEYS; phase++) {
        PAIR: for (int p = phase & 1; p + 1 < KEYS; p += 2) {
            int low = key[p], high = key[p + 1];
            if (low > high) {
                key[p] = high;
                key[p + 1] = low;
            }
        }
    }
}

int main(void)
{
    int key[KEYS];
    long s = 0;
    for (int i = 0; i < KEYS; i++) key[i] = i * 7919 % 1009;
    systolic_sort(key);
    for (int i = 0; i < KEYS; i++) s += (long)key[i] * i;
    printf("systolic_sort %ld\n", s);
    return 0;
}
