/* Temperatures of a chip: power in, conduction to four neighbours, heat out to the ambient. */
void hotspot(int steps, int rows, int cols, float temp[rows][cols], float next[rows][cols],
             const float power[rows][cols], float cap, float rx, float ry, float rz)
{
  const float ambient = 80.0f;
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int r = 1; r < rows - 1; r++)
      for (int c = 1; c < cols - 1; c++) {
        float delta = cap * (power[r][c]
            + (temp[r + 1][c] + temp[r - 1][c] - 2.0f * temp[r][c]) * ry
            + (temp[r][c + 1] + temp[r][c - 1] - 2.0f * temp[r][c]) * rx
            + (ambient - temp[r][c]) * rz);
        next[r][c] = temp[r][c] + 0.01f * delta;
      }
    for (int r = 1; r < rows - 1; r++)
      for (int c = 1; c < cols - 1; c++)
        temp[r][c] = next[r][c];
  }
#pragma endscop
}
