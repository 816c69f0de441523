/* Squared distances of points to centres, and the nearest centre of every point. */
void kmeans(int points, int clusters, int features, const float x[points][features],
            const float centre[clusters][features], float dist[points][clusters],
            float best[points], int member[points])
{
#pragma scop
  for (int p = 0; p < points; p++)
    for (int k = 0; k < clusters; k++) {
      dist[p][k] = 0.0f;
      for (int f = 0; f < features; f++) {
        float d = x[p][f] - centre[k][f];
        dist[p][k] += d * d;
      }
    }
  for (int p = 0; p < points; p++) {
    best[p] = 1e30f;
    member[p] = -1;
    for (int k = 0; k < clusters; k++)
      if (dist[p][k] < best[p]) {
        best[p] = dist[p][k];
        member[p] = k;
      }
  }
#pragma endscop
}
