// Forward kinematics of eight configurations at once.
#pragma once

#include "openral/geometry.hpp"
#include "openral/skeleton.hpp"

namespace openral::OPENRAL_LANES {

struct Rotation {
  V m[9];
};
OPENRAL_INLINE V3 operator*(const Rotation& r, const V3& v) {
  return {r.m[0] * v.x + r.m[1] * v.y + r.m[2] * v.z, r.m[3] * v.x + r.m[4] * v.y + r.m[5] * v.z,
          r.m[6] * v.x + r.m[7] * v.y + r.m[8] * v.z};
}

// Joint values of each lane, ready for posing.
struct Configurations {
  alignas(32) S theta[kMaxFrames][kLanes];  // reduced to ±π for turning joints
  alignas(32) S base[3][kLanes];            // planar displacement x, y, yaw
};

struct Posed {
  Rotation rotation[kMaxFrames];
  V3 origin[kMaxFrames];
  Segment segment[kMaxCapsules];
  V3 middle[kMaxCapsules];
};

OPENRAL_INLINE void pose_frame(const MovingFrame& f, V theta, bool at_root, Posed& out, int self) {
  const Rotation& up = out.rotation[f.parent];
  Rotation local;
  V3 shift = splat3(f.origin.data());
  if (f.revolute) {
    V s, c;
    sincos(theta, s, c);
    for (int i = 0; i < 9; ++i) local.m[i] = f.fixed[i] + f.cosine[i] * c + f.sine[i] * s;
  } else {
    for (int i = 0; i < 9; ++i) local.m[i] = splat(f.fixed[i]);
    shift = shift + theta * splat3(f.slide.data());
  }
  if (at_root) {
    out.rotation[self] = local;
    out.origin[self] = shift;
    return;
  }
  Rotation& r = out.rotation[self];
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k)
      r.m[3 * i + k] = up.m[3 * i] * local.m[k] + up.m[3 * i + 1] * local.m[3 + k] +
                       up.m[3 * i + 2] * local.m[6 + k];
  out.origin[self] = out.origin[f.parent] + up * shift;
}

OPENRAL_INLINE void pose(const Skeleton& skeleton, const Configurations& q, bool planar,
                         Posed& out) {
  V s = splat(0), c = splat(1);
  if (planar) sincos(load(q.base[2]), s, c);
  const V zero = splat(0), one = splat(1);
  out.rotation[0] = {{c, -s, zero, s, c, zero, zero, zero, one}};
  out.origin[0] = {planar ? load(q.base[0]) : zero, planar ? load(q.base[1]) : zero, zero};
  const int frames = static_cast<int>(skeleton.frames.size());
  const MovingFrame* frame = skeleton.frames.data();
  for (int i = 1; i < frames; ++i)
    pose_frame(frame[i], load(q.theta[i]), !planar && frame[i].parent == 0, out, i);
  const int capsules = static_cast<int>(skeleton.capsules.size());
  const SkeletonCapsule* capsule = skeleton.capsules.data();
  for (int i = 0; i < capsules; ++i) {
    const SkeletonCapsule& k = capsule[i];
    const V3 p0 = out.origin[k.frame] + out.rotation[k.frame] * splat3(k.p0.data());
    const V3 p1 = out.origin[k.frame] + out.rotation[k.frame] * splat3(k.p1.data());
    out.segment[i] = {p0, p1 - p0};
    out.middle[i] = splat(static_cast<S>(0.5)) * (p0 + p1);
  }
}

// An angle's representative in ±π.
OPENRAL_INLINE double reduced(double angle) {
  constexpr double kMagic = 6755399441055744.0;
  const double turns = (angle * 0.15915494309189535 + kMagic) - kMagic;
  return angle - turns * 6.283185307179586;
}

}  // namespace openral::OPENRAL_LANES
