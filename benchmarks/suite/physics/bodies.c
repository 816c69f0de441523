#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { double x, y, z; } vec3;
typedef struct { vec3 pos, vel; double mass; } Body;

typedef struct {
  int count;
  Body *body;
  vec3 *acc;
} System;

static void accelerate(System *s) {
  /* nest: members */
  for (int i = 0; i < s->count; i++) {
    vec3 a = {0, 0, 0};
    for (int j = 0; j < s->count; j++) {
      double dx = s->body[j].pos.x - s->body[i].pos.x;
      double dy = s->body[j].pos.y - s->body[i].pos.y;
      double dz = s->body[j].pos.z - s->body[i].pos.z;
      double d2 = dx * dx + dy * dy + dz * dz + 1e-3;
      double inv = s->body[j].mass / (d2 * sqrt(d2));
      a.x += dx * inv;
      a.y += dy * inv;
      a.z += dz * inv;
    }
    s->acc[i] = a;
  }
}

static void advance(Body *b, const vec3 *a, int n, double dt) {
  /* nest: advance */
  for (int i = 0; i < n; i++) {
    b[i].vel.x += dt * a[i].x;
    b[i].vel.y += dt * a[i].y;
    b[i].vel.z += dt * a[i].z;
    b[i].pos.x += dt * b[i].vel.x;
    b[i].pos.y += dt * b[i].vel.y;
    b[i].pos.z += dt * b[i].vel.z;
  }
}

static double energy(const System *s) {
  double e = 0;
  const Body *b = s->body;
  /* nest: energy */
  for (int i = 0; i < s->count; ++i) {
    e += 0.5 * b[i].mass * (b[i].vel.x * b[i].vel.x + b[i].vel.y * b[i].vel.y + b[i].vel.z * b[i].vel.z);
    for (int j = i + 1; j < s->count; ++j) {
      vec3 d = {b[i].pos.x - b[j].pos.x, b[i].pos.y - b[j].pos.y, b[i].pos.z - b[j].pos.z};
      e -= b[i].mass * b[j].mass / sqrt(d.x * d.x + d.y * d.y + d.z * d.z + 1e-3);
    }
  }
  return e;
}

int main(int argc, char **argv) {
  System s;
  s.count = argc > 1 ? atoi(argv[1]) : 60;
  s.body = malloc(s.count * sizeof(Body));
  s.acc = malloc(s.count * sizeof(vec3));
  for (int i = 0; i < s.count; i++) {
    Body b = {{i % 7, i % 5 + 0.1 * i, i % 3}, {0, 0.1 * (i % 2), 0}, 1.0 + i % 4};
    s.body[i] = b;
  }
  for (int step = 0; step < 5; step++) {
    accelerate(&s);
    advance(s.body, s.acc, s.count, 0.001);
  }
  printf("bodies %.6e\n", energy(&s));
  free(s.body);
  free(s.acc);
  return 0;
}
