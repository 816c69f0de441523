// refused: place_in_the_text.c:4:32: error: a[i - 1] leaves dimension 1 of a[100]
void kernel(n, a) int n; double a[100]; { register int i;
#pragma scop
        for (i = 0; i < n; i++)a[i - 1] = n;
#pragma endscop
}
