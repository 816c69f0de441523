#include <stdio.h>
#include <ctype.h>
#include <string.h>

static int words(const char *s)
{
    int n = 0, in = 0;
    /* nest: words */
    while (*s) {
        if (isspace((unsigned char)*s)) in = 0;
        else if (!in) { in = 1; n++; }
        s++;
    }
    return n;
}

static void xor_key(unsigned char *buf, int len, const unsigned char key[16])
{
    int i;
    /* nest: xor */
    for (i = 0; i < len; i++)
        buf[i] ^= key[i % 16];
}

static void hex(const unsigned char *in, char *out, int n)
{
    static const char digit[] = "0123456789abcdef";
    /* nest: hex */
    for (int i = 0; i < n; i++) {
        out[2 * i] = digit[in[i] >> 4];
        out[2 * i + 1] = digit[in[i] & 15];
    }
    out[2 * n] = '\0';
}

struct node { int value; struct node *next; };

static int list_sum(const struct node *p)
{
    int s = 0;
    /* nest: list */
    for (; p; p = p->next) s += p->value;
    return s;
}

int main(void)
{
    static const char text[] = "to be or not to be, that is the question:\nwhether it is nobler";
    unsigned char key[16], buf[sizeof text];
    char shown[2 * sizeof text + 1];
    struct node nodes[5];
    int i;
    for (i = 0; i < 16; i++) key[i] = (unsigned char)(i * 29 + 7);
    memcpy(buf, text, sizeof text);
    xor_key(buf, sizeof text, key);
    hex(buf, shown, sizeof text);
    for (i = 0; i < 5; i++) { nodes[i].value = i * i; nodes[i].next = i < 4 ? &nodes[i + 1] : NULL; }
    /* nest: print */
    for (i = 0; i < 3; i++)
        printf("%c", shown[i]);
    printf(" text_tools %d %.8s %d\n", words(text), shown + 40, list_sum(nodes));
    return 0;
}
