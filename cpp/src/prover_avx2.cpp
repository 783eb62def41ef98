#define OPENRAL_LANES avx2
#include "openral/prover_lanes.hpp"
