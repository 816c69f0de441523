#include <math.h>

/* One layer: forward through a sigmoid for a batch, then errors and update of weights with momentum.
   w[i][j] leads from input i to output j, as in books. */
void backprop(int batch, int in, int out, double x[batch][in], double target[batch][out],
              double w[in][out], double old[in][out], double y[batch][out],
              double delta[batch][out], double eta, double momentum)
{
  double sum;
#pragma scop
  for (int b = 0; b < batch; b++)
    for (int j = 0; j < out; j++) {
      sum = 0.0;
      for (int i = 0; i < in; i++)
        sum += w[i][j] * x[b][i];
      y[b][j] = 1.0 / (1.0 + exp(-sum * 0.01));
      delta[b][j] = y[b][j] * (1.0 - y[b][j]) * (target[b][j] - y[b][j]);
    }
  for (int j = 0; j < out; j++)
    for (int i = 0; i < in; i++) {
      double grad = 0.0;
      for (int b = 0; b < batch; b++)
        grad += delta[b][j] * x[b][i];
      grad = eta * grad + momentum * old[i][j];
      w[i][j] += grad;
      old[i][j] = grad;
    }
#pragma endscop
}
