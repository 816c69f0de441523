// V=6
#include <limits.h>
#define INF INT_MAX
void apsp(unsigned V, int dist[V][V], int next[V][V])
{
#pragma scop
    for (unsigned k = 0; k < V; k++)
        for (unsigned i = 0; i < V; i++) {
            if (dist[i][k] == INF) continue;
            for (unsigned j = 0; j < V; j++) {
                if (dist[k][j] == INF) continue;
                int alt = dist[i][k] + dist[k][j];
                if (alt < dist[i][j]) { dist[i][j] = alt; next[i][j] = next[i][k]; }
            }
        }
#pragma endscop
}
