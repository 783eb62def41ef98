#define OPENRAL_LANES scalar
#include "openral/prover_lanes.hpp"
