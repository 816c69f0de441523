#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <inttypes.h>

static uint32_t table[256];

static void crc_init(void)
{
    /* nest: table */
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t c = n;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table[n] = c;
    }
}

/* Byte by byte: each step needs the one before. */
static uint32_t crc32_of(const uint8_t *buf, size_t len)
{
    uint32_t c = ~0u;
    /* nest: bytes */
    for (; len > 0; --len, ++buf)
        c = table[(c ^ *buf) & 0xff] ^ (c >> 8);
    return ~c;
}

static uint16_t fletcher(const uint8_t *data, int count)
{
    uint16_t a = 0, b = 0;
    /* nest: fletcher */
    for (int i = 0; i < count; ++i) {
        a = (uint16_t)((a + data[i]) % 255);
        b = (uint16_t)((b + a) % 255);
    }
    return (uint16_t)(b << 8 | a);
}

int main(void)
{
    static uint8_t message[1000];
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)(i * i + 3 * i);
    crc_init();
    printf("crc %08" PRIx32 " %04x\n", crc32_of(message, sizeof message), fletcher(message, 1000));
    return 0;
}
