/* A 3 x 3 filter over a stream of pixels, with two line buffers and a window. */
#include <stdio.h>
#include <stdint.h>
#define COLS 48
#define LINES 40

void stream_filter(const uint8_t in[LINES * COLS], int16_t out[LINES * COLS], const int8_t k[3][3])
{
    uint8_t line[2][COLS] = {{0}};
    uint8_t win[3][3] = {{0}};
    /* nest: stream */
    ROW: for (int r = 0; r < LINES; r++) {
        COL: for (int c = 0; c < COLS; c++) {
            uint8_t fresh = in[r * COLS + c];
            SHIFT: for (int i = 0; i < 3; i++) {
                win[i][0] = win[i][1];
                win[i][1] = win[i][2];
            }
            win[0][2] = line[0][c];
            win[1][2] = line[1][c];
            win[2][2] = fresh;
            line[0][c] = line[1][c];
            line[1][c] = fresh;
            int16_t acc = 0;
            TAP: for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    acc = (int16_t)(acc + win[i][j] * k[i][j]);
            if (r >= 2 && c >= 2)
                out[(r - 1) * COLS + c - 1] = acc;
        }
    }
}

int main(void)
{
    static uint8_t in[LINES * COLS];
    static int16_t out[LINES * COLS];
    const int8_t k[3][3] = {{-1, -2, -1}, {0, 0, 0}, {1, 2, 1}};
    long s = 0;
    for (int i = 0; i < LINES * COLS; i++) in[i] = (uint8_t)(i * i >> 3);
    stream_filter(in, out, k);
    for (int i = 0; i < LINES * COLS; i++) s += out[i] * (i % 11);
    printf("line_buffer %ld\n", s);
    return 0;
}
