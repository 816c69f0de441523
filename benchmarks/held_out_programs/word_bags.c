/* Texts as means of their words' vectors. Text t has the words between first[t] and first[t + 1];
 * the vectors of all words are rows of one long table.
 *
 *   word_bags [texts dim]
 */
#include <stdio.h>
#include <stdlib.h>

#define VOCABULARY 5000

void bag_means(int texts, int dim, int words, const int first[texts + 1], const int word[words],
               const float *table, float *mean)
{
#pragma scop
  for (int t = 0; t < texts; t++) {
    for (int d = 0; d < dim; d++)
      mean[t * dim + d] = 0.0f;
    for (int k = first[t]; k < first[t + 1]; k++)
      for (int d = 0; d < dim; d++)
        mean[t * dim + d] += table[word[k] * dim + d];
    if (first[t + 1] > first[t])
      for (int d = 0; d < dim; d++)
        mean[t * dim + d] /= (float)(first[t + 1] - first[t]);
  }
#pragma endscop
}

int main(int argc, char **argv)
{
  int texts = argc > 1 ? atoi(argv[1]) : 30, dim = argc > 2 ? atoi(argv[2]) : 16;
  int *first = malloc(sizeof(int) * ((size_t)texts + 1));
  if (!first)
    return 1;
  first[0] = 0;
  for (int t = 0; t < texts; t++)
    first[t + 1] = first[t] + (t * 13) % 40;
  int words = first[texts];
  int *word = malloc(sizeof(int) * (size_t)(words + 1));
  float *table = malloc(sizeof(float) * VOCABULARY * (size_t)dim);
  float *mean = malloc(sizeof(float) * (size_t)texts * (size_t)dim);
  if (!word || !table || !mean)
    return 1;
  unsigned state = 1;
  for (int k = 0; k < words; k++) {
    state = state * 1103515245u + 12345u;
    word[k] = (int)((state >> 16) % VOCABULARY);
  }
  for (int i = 0; i < VOCABULARY * dim; i++)
    table[i] = (float)(i % 97) * 0.01f;
  bag_means(texts, dim, words, first, word, table, mean);
  double sum = 0;
  for (int i = 0; i < texts * dim; i++)
    sum += (double)mean[i] * (i % 3 + 1);
  printf("%.4f\n", sum);
  free(first);
  free(word);
  free(table);
  free(mean);
  return 0;
}
