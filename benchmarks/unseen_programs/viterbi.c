/* Most likely states, log probabilities, with the way back. */
void viterbi(int T, int S, double score[T][S], int from[T][S], const double trans[S][S],
             const double emit[T][S])
{
#pragma scop
  for (int s = 0; s < S; s++)
    score[0][s] = emit[0][s];
  for (int t = 1; t < T; t++)
    for (int s = 0; s < S; s++) {
      double best = -1e300;
      int arg = 0;
      for (int r = 0; r < S; r++) {
        double cand = score[t - 1][r] + trans[r][s];
        if (cand > best) {
          best = cand;
          arg = r;
        }
      }
      score[t][s] = best + emit[t][s];
      from[t][s] = arg;
    }
#pragma endscop
}
