#pragma once
/* Sizes of the on-chip buffers. */
#define DIM   64
#define TILE  16
#define TILES (DIM / TILE)
typedef float elem;
void tile_product(const elem *left, const elem *right, elem *out);
