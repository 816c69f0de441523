/* Wave equation, leapfrog, three arrays that change places by copies of pointers in the original;
   here by three slots of one array. */
void wave3d(int T, int nz, int ny, int nx, float u[3][nz][ny][nx], float vel[nz][ny][nx])
{
#pragma scop
  for (int t = 2; t < T; t++)
    for (int z = 1; z < nz - 1; z++)
      for (int y = 1; y < ny - 1; y++)
        for (int x = 1; x < nx - 1; x++)
          u[t % 3][z][y][x] = 2.0f * u[(t + 2) % 3][z][y][x] - u[(t + 1) % 3][z][y][x]
            + 0.1f * vel[z][y][x] * (u[(t + 2) % 3][z + 1][y][x] + u[(t + 2) % 3][z - 1][y][x]
                 + u[(t + 2) % 3][z][y + 1][x] + u[(t + 2) % 3][z][y - 1][x]
                 + u[(t + 2) % 3][z][y][x + 1] + u[(t + 2) % 3][z][y][x - 1]
                 - 6.0f * u[(t + 2) % 3][z][y][x]);
#pragma endscop
}
