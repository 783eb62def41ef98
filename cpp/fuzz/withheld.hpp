// Facts that can be kept from the kernel while the oracle knows them. A kernel without such a fact
// must be found wrong: an oracle that never finds fault says nothing.
#pragma once

#include <cstring>

#include "openral/model.hpp"

namespace fuzz {

enum class Withheld {
  kNothing,
  kMargin,        // one millimetre of it
  kTracking,      // errors of joints and of odometry
  kJitter,        // of the rate of rows
  kStop,          // nine tenths of the time that a stop takes
  kDeceleration,  // the base is said to brake ten times as hard
  kAge,           // measurements are said to be new
  kFound,         // measured speeds
  kAttached,      // objects in the robot's hands
  kPair,          // the last pair of links that must keep apart
  kRange,         // limits of positions are said to be wider by 0.05
  kCount
};
inline const char* const kWithheldNames[] = {"nothing",  "margin",       "tracking", "jitter",
                                             "stop",     "deceleration", "age",      "found",
                                             "attached", "pair",         "range"};

inline Withheld withheld_by_name(const char* name) {
  for (int i = 0; i < static_cast<int>(Withheld::kCount); ++i)
    if (std::strcmp(kWithheldNames[i], name) == 0) return static_cast<Withheld>(i);
  return Withheld::kCount;
}

inline openral::RobotModel without(Withheld what, openral::RobotModel m) {
  openral::Envelope& e = m.envelope;
  if (what == Withheld::kMargin) {
    e.world_margin = std::max(0.0, e.world_margin - 1e-3);
    e.self_margin = std::max(0.0, e.self_margin - 1e-3);
  } else if (what == Withheld::kTracking) {
    for (openral::Coordinate& c : m.coordinates) c.tracking = 0;
    e.base_tracking = e.base_turn_tracking = 0;
  } else if (what == Withheld::kJitter) {
    e.jitter = 0;
  } else if (what == Withheld::kStop) {
    e.stop_time *= 0.1;
  } else if (what == Withheld::kDeceleration) {
    e.base_deceleration *= 10;
  } else if (what == Withheld::kPair && !m.pairs.empty()) {
    m.pairs.pop_back();
  } else if (what == Withheld::kRange) {
    for (openral::Coordinate& c : m.coordinates) c.lower -= 0.05, c.upper += 0.05;
  }
  return m;
}

}  // namespace fuzz
