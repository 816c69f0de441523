#include <stdio.h>

#define LONG_  72
#define SHORT_ 56
#define W (SHORT_ + 1)

/* Cost of turning a word into another; the table is flat. The way back is one walk. */
int edit_table(const char a[LONG_], const char b[SHORT_], int table[(LONG_ + 1) * W])
{
    int i, j, here;
    for (j = 0; j < W; j++) table[j] = j;
    /* nest: fill */
    fill: for (i = 1; i <= LONG_; i++) {
        here = i * W;
        table[here] = i;
        across: for (j = 1; j < W; j++) {
            int change = table[here - W + j - 1];
            int drop = table[here - W + j] + 1;
            if (a[i - 1] != b[j - 1])
                change += 1;
            if (drop < change)
                change = drop;
            drop = table[here + j - 1] + 1;
            table[here + j] = drop < change ? drop : change;
        }
    }
    return table[LONG_ * W + SHORT_];
}

static int kept(const int *table, int i, int j)
{
    int same = 0;
    /* nest: walk */
    while (i > 0 && j > 0) {
        int now = table[i * W + j];
        if (now == table[(i - 1) * W + j] + 1) {
            i--;
        } else if (now == table[i * W + j - 1] + 1) {
            j--;
        } else {
            same += now == table[(i - 1) * W + j - 1];
            i--, j--;
        }
    }
    return same;
}

int main(void)
{
    static char a[LONG_], b[SHORT_];
    static int table[(LONG_ + 1) * W];
    for (int i = 0; i < LONG_; i++) a[i] = (char)('a' + i * 7 % 5);
    for (int i = 0; i < SHORT_; i++) b[i] = (char)('a' + i * i % 5);
    int distance = edit_table(a, b, table);
    printf("edit_table %d %d\n", distance, kept(table, LONG_, SHORT_));
    return 0;
}
