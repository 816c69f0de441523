#include <stdio.h>
#include <stdlib.h>
#include <math.h>

/* Gradient of a grey picture that is held as rows. */

static unsigned char **alloc_rows(int h, int w)
{
	unsigned char **rows = malloc(h * sizeof *rows);
	int i;

	for (i = 0; i < h; i++)
		rows[i] = calloc(w, 1);
	return rows;
}

static void gradient(unsigned char **in, unsigned char **out, int h, int w)
{
	int i, j;

	/* nest: sobel */
	for (i = 1; i < h - 1; i++)
		for (j = 1; j < w - 1; j++) {
			int gx = in[i-1][j+1] + 2 * in[i][j+1] + in[i+1][j+1]
			       - in[i-1][j-1] - 2 * in[i][j-1] - in[i+1][j-1];
			int gy = in[i+1][j-1] + 2 * in[i+1][j] + in[i+1][j+1]
			       - in[i-1][j-1] - 2 * in[i-1][j] - in[i-1][j+1];
			int m = abs(gx) + abs(gy);

			out[i][j] = m > 255 ? 255 : m;
		}
}

static int threshold(unsigned char **p, int h, int w, int level)
{
	int i, j, n = 0;

	/* nest: threshold */
	for (i = 0; i < h; i++)
		for (j = 0; j < w; j++)
			if (p[i][j] >= level) {
				p[i][j] = 255;
				n++;
			} else {
				p[i][j] = 0;
			}
	return n;
}

int main(int argc, char *argv[])
{
	int h = 64, w = 80, i, j;
	unsigned char **a, **b;

	if (argc == 3) {
		h = atoi(argv[1]);
		w = atoi(argv[2]);
	}
	a = alloc_rows(h, w);
	b = alloc_rows(h, w);
	for (i = 0; i < h; i++)
		for (j = 0; j < w; j++)
			a[i][j] = (i * j + 3 * i) & 0xff;
	gradient(a, b, h, w);
	printf("edges %d\n", threshold(b, h, w, 100));
	return 0;
}
