#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct option { float spot, strike, rate, vol, time; int is_put; } Option;

static float normal_cdf(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float p = k * (0.31938153f + k * (-0.35656378f + k * (1.78147794f + k * (-1.82125598f + k * 1.33027443f))));
    p = 1.0f - 0.39894228f * expf(-0.5f * x * x) * p;
    if (x < 0)
        return 1.0f - p;
    return p;
}

static float price_of(Option o)
{
    float root = sqrtf(o.time);
    float d1 = (logf(o.spot / o.strike) + (o.rate + 0.5f * o.vol * o.vol) * o.time) / (o.vol * root);
    float d2 = d1 - o.vol * root;
    float cash = o.strike * expf(-o.rate * o.time);
    if (o.is_put)
        return cash * normal_cdf(-d2) - o.spot * normal_cdf(-d1);
    return o.spot * normal_cdf(d1) - cash * normal_cdf(d2);
}

static void price_all(const Option *o, float *price, int n)
{
    /* nest: closed_form */
    for (int i = 0; i < n; i++)
        price[i] = price_of(o[i]);
}

/* Binomial tree, backwards in one array. */
static double tree(double spot, double strike, int steps, double *v)
{
    double up = 1.01, down = 1 / up, p = (1.0002 - down) / (up - down);
    int i, t;
    /* nest: leaves */
    for (i = 0; i <= steps; i++) {
        double s = spot * pow(up, 2 * i - steps);
        v[i] = s > strike ? s - strike : 0;
    }
    /* nest: backwards */
    for (t = steps - 1; t >= 0; t--)
        for (i = 0; i <= t; i++)
            v[i] = (p * v[i + 1] + (1 - p) * v[i]) / 1.0002;
    return v[0];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200;
    Option *o = malloc(n * sizeof *o);
    float *price = malloc(n * sizeof *price);
    double *v = malloc((n + 1) * sizeof *v), s = 0;
    for (int i = 0; i < n; i++) {
        Option each = {90 + i % 21, 100, 0.02f, 0.1f + 0.01f * (i % 30), 0.25f + 0.1f * (i % 9), i & 1};
        o[i] = each;
    }
    price_all(o, price, n);
    for (int i = 0; i < n; i++)
        s += price[i];
    printf("finance %.2f %.5f\n", s, tree(100, 101, n, v));
    return 0;
}
