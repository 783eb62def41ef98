// One configuration in double precision with the same formulas: no lanes, no inflation.
#define OPENRAL_LANES exact
#define OPENRAL_LANE_DOUBLE
#include "openral/posing.hpp"
#include "openral/prover.hpp"
#include "openral/voxel_test.hpp"

namespace openral {
namespace exact {
namespace {

double positive(double bound) { return bound >= 0 ? bound : 0; }

double to_obstacle(const Segment& g, const Obstacle& o) {
  if (!o.box) return positive(segment_segment(g, {splat3(o.p.data()), splat3(o.d.data())}));
  const V3 p = g.p - splat3(o.p.data());
  const auto& r = o.rotation;
  const auto local = [&r](const V3& v) -> V3 {
    return {r[0] * v.x + r[3] * v.y + r[6] * v.z, r[1] * v.x + r[4] * v.y + r[7] * v.z,
            r[2] * v.x + r[5] * v.y + r[8] * v.z};
  };
  return positive(segment_box({local(p), local(g.d)}, splat3(o.d.data())));
}

// At least as far as the obstacle's box is from the middle of a segment, less half of its length.
bool beyond(const World& world, std::size_t o, const V3& middle, double reach) {
  const double at[3] = {middle.x, middle.y, middle.z};
  double apart = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double out = std::fabs(at[i] - static_cast<double>(world.centre[i][o])) -
                       static_cast<double>(world.half[i][o]);
    apart += out > 0 ? out * out : 0;
  }
  return reach > 0 && apart > reach * reach;
}

// No segment around `middle` is farther from anything occupied than this; `reach` where the field
// does not know.
double at_most(const VoxelField& field, const V3& middle, double reach) {
  const double at[3] = {middle.x, middle.y, middle.z};
  int cell[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const auto origin = static_cast<double>(field.origin()[i]);
    const double past = (at[i] - origin) / static_cast<double>(field.resolution());
    if (!(past >= 0 && past < field.shape()[i])) return reach;
    cell[i] = static_cast<int>(past);
  }
  const std::size_t index = field.index(cell[0], cell[1], cell[2]);
  if (field.squared()[index] >= VoxelField::kReach * VoxelField::kReach) return reach;
  // From corner to corner of the middle's cell, and a hair for rounding.
  return static_cast<double>(field.distance(index)) +
         1.7321 * static_cast<double>(field.resolution()) + 1e-4;
}

}  // namespace
}  // namespace exact

int clearances(const Skeleton& skeleton, const World& world, const VoxelField* voxels,
               const double* q, float reach, int most, float* by_capsule, float* by_pair) noexcept {
  using namespace exact;
  Configurations at;
  for (std::size_t f = 1; f < skeleton.frames.size(); ++f) {
    const MovingFrame& frame = skeleton.frames[f];
    at.theta[f][0] = frame.multiplier * q[frame.coordinate] + frame.offset;
  }
  for (std::size_t i = 0; i < 3; ++i) at.base[i][0] = q[skeleton.dof + i];
  Posed posed;
  pose(skeleton, at, true, posed);
  int work = static_cast<int>(skeleton.frames.size() + skeleton.pairs.size()), cell[3];
  for (std::size_t c = 0; c < skeleton.capsules.size() && work <= most; ++c) {
    const SkeletonCapsule& capsule = skeleton.capsules[c];
    double best = reach;
    if (capsule.against_world) {
      const Segment g = segment(capsule, posed, static_cast<int>(c));
      work += 1 + static_cast<int>(world.obstacles.size()) / 8;  // of the boxes around them
      for (std::size_t o = 0; o < world.obstacles.size(); ++o) {
        const double radii =
            static_cast<double>(world.obstacles[o].radius) + static_cast<double>(capsule.radius);
        if (beyond(world, o, posed.middle[c],
                   best + radii + static_cast<double>(capsule.half_length)))
          continue;
        ++work;
        const double d = to_obstacle(g, world.obstacles[o]) - radii;
        best = d < best ? d : best;
      }
      if (voxels != nullptr && !voxels->empty()) {
        const double radius = capsule.radius;
        const double within = vmin(at_most(*voxels, posed.middle[c], best + radius), best + radius);
        const double d = nearest_cell(*voxels, {{g.p.x, g.p.y, g.p.z}}, {{g.d.x, g.d.y, g.d.z}},
                                      within, -1.0, cell, work, most, PlainDistance{}) -
                         radius;
        best = d < best ? d : best;
      }
    }
    by_capsule[c] = static_cast<float>(best);
  }
  for (std::size_t i = 0; i < skeleton.pairs.size() && work <= most; ++i) {
    const SkeletonPair& pair = skeleton.pairs[i];
    const auto of = [&](int c) {
      return segment(skeleton.capsules[static_cast<std::size_t>(c)], posed, c);
    };
    const double d =
        positive(segment_segment(of(pair.a), of(pair.b))) - static_cast<double>(pair.radii);
    by_pair[i] =
        static_cast<float>(d < static_cast<double>(reach) ? d : static_cast<double>(reach));
  }
  return work;
}

}  // namespace openral
