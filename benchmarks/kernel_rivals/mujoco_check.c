/* Times mj_kinematics + mj_collision: mujoco_check MODEL.mjb ROWS COUNT ROUNDS. ROWS holds COUNT
   configurations of doubles. Prints the best round's ns a configuration and, as a string of 0 and 1,
   which configurations have a contact. */
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  mjModel* model = mj_loadModel(argv[1], NULL);
  FILE* file = fopen(argv[2], "rb");
  const int count = atoi(argv[3]), rounds = atoi(argv[4]);
  if (!model || !file || count < 1) return 2;
  const size_t width = (size_t)model->nq;
  mjtNum* rows = malloc((size_t)count * width * sizeof(mjtNum));
  char* touches = calloc((size_t)count + 1, 1);
  if (fread(rows, width * sizeof(mjtNum), (size_t)count, file) != (size_t)count) return 2;
  mjData* data = mj_makeData(model);
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const double begin = now_ns();
    for (int i = 0; i < count; ++i) {
      memcpy(data->qpos, rows + (size_t)i * width, width * sizeof(mjtNum));
      mj_kinematics(model, data);
      mj_collision(model, data);
      touches[i] = data->ncon > 0 ? '1' : '0';
    }
    const double spent = (now_ns() - begin) / count;
    if (spent < best) best = spent;
  }
  printf("{\"ns\": %.1f, \"version\": \"%s\", \"touches\": \"%s\"}\n", best, mj_versionString(),
         touches);
  return 0;
}
