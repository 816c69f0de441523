#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int in, hid, out;
  float *x, *h, *y;
  float **w1, **w2;
  float *dh, *dy, *want;
} NET;

static float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }

/* Row 0 of the weights is the bias; units count from one. */
static void forward(float *from, float *to, float **w, int n, int m)
{
  int j, k;
  float sum;
  from[0] = 1.0f;
  /* nest: forward */
#pragma omp parallel for private(k) reduction(+: sum) schedule(static)
  for (j = 1; j <= m; j++) {
    sum = 0.0f;
    for (k = 0; k <= n; k++)
      sum += w[k][j] * from[k];
    to[j] = logistic(sum);
  }
}

static void adjust(float *delta, int m, float *from, int n, float **w)
{
  /* nest: adjust */
#pragma omp parallel for
  for (int j = 1; j <= m; j++)
    for (int k = 0; k <= n; k++)
      w[k][j] += 0.3f * delta[j] * from[k];
}

static void hidden_error(NET *net)
{
  /* nest: hidden */
  for (int j = 1; j <= net->hid; j++) {
    float h = net->h[j], sum = 0.f;
    for (int k = 1; k <= net->out; k++)
      sum += net->dy[k] * net->w2[j][k];
    net->dh[j] = h * (1.f - h) * sum;
  }
}

static float **rows(int n, int m)
{
  float **r = malloc((n + 1) * sizeof(float *));
  for (int i = 0; i <= n; i++) {
    r[i] = malloc((m + 1) * sizeof(float));
    for (int j = 0; j <= m; j++) r[i][j] = 0.01f * ((i * 7 + j * 3) % 21 - 10);
  }
  return r;
}

int main(int argc, char **argv)
{
  NET net = {argc > 1 ? atoi(argv[1]) : 32, 12, 3};
  net.x = calloc(net.in + 1, sizeof(float)), net.h = calloc(net.hid + 1, sizeof(float));
  net.y = calloc(net.out + 1, sizeof(float)), net.dh = calloc(net.hid + 1, sizeof(float));
  net.dy = calloc(net.out + 1, sizeof(float)), net.want = calloc(net.out + 1, sizeof(float));
  net.w1 = rows(net.in, net.hid), net.w2 = rows(net.hid, net.out);
  double err = 0;
  for (int e = 0; e < 20; e++) {
    for (int i = 1; i <= net.in; i++) net.x[i] = (float)((i * (e + 1)) % 5) / 5;
    forward(net.x, net.h, net.w1, net.in, net.hid);
    forward(net.h, net.y, net.w2, net.hid, net.out);
    for (int k = 1; k <= net.out; k++) {
      net.want[k] = (float)((e + k) % 2);
      net.dy[k] = net.y[k] * (1 - net.y[k]) * (net.want[k] - net.y[k]);
      err += fabs(net.dy[k]);
    }
    hidden_error(&net);
    adjust(net.dy, net.out, net.h, net.hid, net.w2);
    adjust(net.dh, net.hid, net.x, net.in, net.w1);
  }
  printf("neural %.5f\n", err);
  return 0;
}
