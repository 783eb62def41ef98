// A verdict in one sentence.
#pragma once

#include <string>

#include "openral/model.hpp"
#include "openral/verdict.hpp"

namespace openral {

std::string describe(const Verdict& verdict, const RobotModel& model);
const char* mode_name(unsigned mode);

}  // namespace openral
