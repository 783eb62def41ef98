// Forward kinematics of eight configurations at once.
#pragma once

#include "openral/geometry.hpp"
#include "openral/skeleton.hpp"

namespace openral::OPENRAL_LANES {

// A frame's axes in the world.
struct Rotation {
  V3 axis[3];
};
OPENRAL_INLINE V3 operator*(const Rotation& r, const V3& v) {
  return v.x * r.axis[0] + v.y * r.axis[1] + v.z * r.axis[2];
}

// Joint values of each lane, ready for posing.
struct Configurations {
  alignas(32) S theta[kMaxFrames][kLanes];  // reduced to ±π for turning joints
  alignas(32) S base[3][kLanes];            // planar displacement x, y, yaw
};

// Frames that nothing hangs on are left out.
struct Posed {
  Rotation rotation[kMaxFrames];
  V3 origin[kMaxFrames];
  V3 middle[kMaxCapsules];
};

OPENRAL_INLINE void pose_frame(const MovingFrame& f, V theta, const Posed& at, Rotation& rotation,
                               V3& origin) {
  const Rotation& up = at.rotation[f.parent];
  V3 o = at.origin[f.parent];
  for (int k = 0; k < 3; ++k)
    if (f.origin[k] != 0) o = o + splat(f.origin[k]) * up.axis[k];
  V3 x, y, z;
  if (f.swaps) {
    x = up.axis[f.axis[0]];
    y = up.axis[f.axis[1]];
    z = up.axis[f.axis[2]];
    if (f.backward) z = {-z.x, -z.y, -z.z};
  } else {
    const auto& t = f.turn;
    x = up * V3{splat(t[0]), splat(t[3]), splat(t[6])};
    y = up * V3{splat(t[1]), splat(t[4]), splat(t[7])};
    z = up * V3{splat(t[2]), splat(t[5]), splat(t[8])};
  }
  if (f.revolute) {
    V s, c;
    sincos(theta, s, c);
    rotation = {{c * x + s * y, c * y - s * x, z}};
  } else {
    rotation = {{x, y, z}};
    o = o + theta * z;
  }
  origin = o;
}

OPENRAL_INLINE void pose_base(const Configurations& q, bool planar, Posed& out) {
  V s = splat(0), c = splat(1);
  if (planar) sincos(load(q.base[2]), s, c);
  const V zero = splat(0), one = splat(1);
  out.rotation[0] = {{{c, s, zero}, {-s, c, zero}, {zero, zero, one}}};
  out.origin[0] = {planar ? load(q.base[0]) : zero, planar ? load(q.base[1]) : zero, zero};
}

OPENRAL_INLINE void pose_capsule(const SkeletonCapsule& capsule, Posed& out, int index) {
  out.middle[index] =
      out.origin[capsule.frame] + out.rotation[capsule.frame] * splat3(capsule.middle.data());
}

OPENRAL_INLINE void pose(const Skeleton& skeleton, const Configurations& q, bool planar,
                         Posed& out) {
  pose_base(q, planar, out);
  const int frames = static_cast<int>(skeleton.frames.size());
  const MovingFrame* frame = skeleton.frames.data();
  for (int i = 1; i < frames; ++i)
    if (frame[i].needed)
      pose_frame(frame[i], load(q.theta[i]), out, out.rotation[i], out.origin[i]);
  const int capsules = static_cast<int>(skeleton.capsules.size());
  const SkeletonCapsule* capsule = skeleton.capsules.data();
  for (int i = 0; i < capsules; ++i) pose_capsule(capsule[i], out, i);
}

OPENRAL_INLINE Segment segment(const SkeletonCapsule& capsule, const Posed& posed, int index) {
  const V3 way = posed.rotation[capsule.frame] * splat3(capsule.way.data());
  return {posed.middle[index] - splat(static_cast<S>(0.5)) * way, way};
}

// An angle's representative in ±π.
OPENRAL_INLINE double reduced(double angle) {
  constexpr double kMagic = 6755399441055744.0;
  const double turns = (angle * 0.15915494309189535 + kMagic) - kMagic;
  return angle - turns * 6.283185307179586;
}

}  // namespace openral::OPENRAL_LANES
