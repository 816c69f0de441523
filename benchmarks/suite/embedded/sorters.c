#include <stdio.h>
#define CAP 100

static int keys[CAP];

/* Exchanges neighbours until a whole pass finds nothing to exchange. */
static void settle(int *v, int count)
{
    int moved = 1;
    /* nest: settle */
    while (moved) {
        moved = 0;
        for (int at = 0; at + 1 < count; at++)
            if (v[at + 1] < v[at]) {
                int held = v[at];
                v[at] = v[at + 1];
                v[at + 1] = held;
                moved = 1;
            }
    }
}

static void insertion(int *a, int n)
{
    /* nest: insertion */
    for (int i = 1; i < n; i++) {
        int v = a[i], j = i - 1;
        while (j >= 0 && a[j] > v) {
            a[j + 1] = a[j];
            j--;
        }
        a[j + 1] = v;
    }
}

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static void fill_fib(int *a, int n)
{
    /* nest: recursion */
    for (int i = 0; i < n; i++)
        a[i] = fib(i % 15);
}

static int search(const int *a, int n, int key)
{
    int lo = 0, hi = n - 1;
    /* nest: bisect */
    while (lo <= hi) {
        int mid = (lo + hi) / 2;
        if (a[mid] == key) return mid;
        if (a[mid] < key) lo = mid + 1; else hi = mid - 1;
    }
    return -1;
}

int main(void)
{
    int b[CAP], i;
    long s = 0;
    for (i = 0; i < CAP; i++) { keys[i] = i * 73 % 101; }
    fill_fib(b, CAP);
    settle(keys, CAP);
    insertion(b, CAP);
    for (i = 0; i < CAP; i++) s += keys[i] * (long)i + b[i];
    printf("sorters %ld %d\n", s, search(keys, CAP, 55));
    return 0;
}
