#include <stdio.h>
#include <string.h>
#define TEXT 3000
#define PAT 5

static char text[TEXT + 1];

/* Failure links make each character looked at at most twice. */
static int linked(const char *pat, const int link[PAT + 1])
{
    int state = 0, hits = 0;
    /* nest: automaton */
    SCAN: for (int i = 0; text[i]; i++) {
        while (state && (state == PAT || pat[state] != text[i]))
            state = link[state];
        if (pat[state] == text[i])
            state++;
        hits += state == PAT;
    }
    return hits;
}

static int plainly(const char pat[PAT])
{
    int hits = 0;
    /* nest: plain */
    for (int i = 0; i <= TEXT - PAT; i++) {
        int same = 1;
        for (int j = 0; j < PAT; j++)
            same &= text[i + j] == pat[j];
        hits += same;
    }
    return hits;
}

int main(void)
{
    const int link[PAT + 1] = {0, 0, 0, 1, 2, 3};
    for (int i = 0; i < TEXT; i++) text[i] = "abc"[(i ^ i >> 3) % 3];
    for (int i = 0; i + 12 < TEXT; i += 97) memcpy(text + i, "ababa", 5);
    printf("needle_count %d %d\n", linked("ababa", link), plainly("ababa"));
    return 0;
}
