/* Weights of one layer of gated recurrent units, each matrix row by row. */
#ifndef GRU_WEIGHTS_H
#define GRU_WEIGHTS_H

typedef struct {
  int inputs, units;
  float *wz, *wr, *wh; /* units x inputs */
  float *uz, *ur, *uh; /* units x units */
  float *bz, *br, *bh; /* units */
} gru_layer;

static inline float sigmoid(float x)
{
  return 1.0f / (1.0f + expf(-x));
}

#endif
