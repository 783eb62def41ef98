// What end effectors must keep to: the workspace and their speeds.
#pragma once

#include "openral/prover_block.hpp"

namespace openral::OPENRAL_LANES {

inline void Block::tools() {
  detail();
  const Lever* lever = s_.levers.data();
  const int tools = static_cast<int>(s_.tools.size());
  for (int t = 0; t < tools; ++t) {
    const SkeletonTool& tool = s_.tools.data()[t];
    const V3 p =
        posed_.origin[tool.frame] + posed_.rotation[tool.frame] * splat3(tool.point.data());
    if (q_.workspace) {
      // The workspace moves with the base.
      const V3 away = p - posed_.origin[0];
      const V3* base = posed_.rotation[0].axis;
      const V3 at{dot(base[0], away), dot(base[1], away), away.z};
      const V full = sum(lever, tool.in_base, half_) + static_cast<S>(tool.slack);
      const V least = sum(lever, tool.in_base, wide_) + static_cast<S>(tool.slack);
      const V axis[3] = {at.x, at.y, at.z};
      V room = splat(static_cast<S>(1e30));
      for (int i = 0; i < 3; ++i)
        room = vmin(room, vmin(axis[i] - static_cast<S>(q_.workspace_lower[i]),
                               static_cast<S>(q_.workspace_upper[i]) - axis[i]));
      judge(*this, room, full, least, Finding::kWorkspace, t, -1, 0, 0);
    }
    if (!(q_.tool_speed > 0 || q_.tool_rate > 0)) continue;
    V3 linear{splat(0), splat(0), splat(0)}, angular = linear;
    const int chain = static_cast<int>(tool.chain.size());
    for (int i = 0; i < chain; ++i) {
      const MovingFrame& f = s_.frames.data()[tool.chain.data()[i]];
      const V rate = static_cast<S>(f.multiplier) * load(rate_[f.coordinate]);
      const V3 axis = rate * posed_.rotation[tool.chain.data()[i]].axis[2];
      if (!f.revolute) {
        linear = linear + axis;
        continue;
      }
      angular = angular + axis;
      linear = linear + cross(axis, p - posed_.origin[tool.chain.data()[i]]);
    }
    // Away from the middle each axis tilts by at most H = Σh and the tool shifts by G = ΣL·h.
    V tilt = splat(0), shift = splat(0), fast = splat(0), quick = splat(0);
    for (int k = tool.in_base.first; k < tool.in_base.last; ++k) {
      const V h = load(half_[lever[k].coordinate]) - load(wide_[lever[k].coordinate]);
      const V r = vabs(load(rate_[lever[k].coordinate]));
      tilt += static_cast<S>(lever[k].turn) * h;
      shift += static_cast<S>(lever[k].length) * h;
      fast += static_cast<S>(lever[k].length) * r;
      quick += static_cast<S>(lever[k].turn) * r;
    }
    const S ulp = static_cast<S>(1e-5);
    if (q_.tool_speed > 0) {
      const V room = static_cast<S>(q_.tool_speed) * (1 + ulp) - vsqrt(dot(linear, linear));
      judge(*this, room, fast * tilt + quick * shift, splat(0), Finding::kToolSpeed, t, -1,
            static_cast<S>(q_.tool_speed), static_cast<S>(q_.tool_speed));
    }
    if (q_.tool_rate > 0) {
      const V room = static_cast<S>(q_.tool_rate) * (1 + ulp) - vsqrt(dot(angular, angular));
      judge(*this, room, quick * tilt, splat(0), Finding::kToolRate, t, -1,
            static_cast<S>(q_.tool_rate), static_cast<S>(q_.tool_rate));
    }
  }
}

}  // namespace openral::OPENRAL_LANES
