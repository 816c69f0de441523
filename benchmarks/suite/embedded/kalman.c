/* Small matrices with sizes of their own in a structure, all on the stack. */
#include <stdio.h>
#include <string.h>

#define MAXN 6

typedef struct { int r, c; float m[MAXN][MAXN]; } Mat;

static void mat_mul(const Mat *a, const Mat *b, Mat *o)
{
    o->r = a->r;
    o->c = b->c;
    /* nest: mul */
    for (int i = 0; i < a->r; i++)
        for (int j = 0; j < b->c; j++) {
            float s = 0.f;
            for (int k = 0; k < a->c; k++)
                s += a->m[i][k] * b->m[k][j];
            o->m[i][j] = s;
        }
}

static Mat mat_add(Mat a, Mat b)
{
    Mat o = {a.r, a.c, {{0}}};
    int i, j;
    /* nest: add */
    for (i = 0; i < a.r; i++)
        for (j = 0; j < a.c; j++)
            o.m[i][j] = a.m[i][j] + b.m[i][j];
    return o;
}

int main(void)
{
    Mat a = {4, 4, {{0}}}, b = {4, 4, {{0}}}, o;
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) { a.m[i][j] = (float)(i - j) / 4; b.m[i][j] = (float)(i * j) / 8; }
    for (int t = 0; t < 3; t++) {
        mat_mul(&a, &b, &o);
        a = mat_add(a, o);
    }
    double s = 0;
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) s += a.m[i][j] * (i + 3 * j);
    printf("kalman %.4f\n", s);
    return 0;
}
