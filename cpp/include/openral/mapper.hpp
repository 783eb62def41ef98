// What depth cameras have seen, as log-odds on a lattice that stands still in the world.
//
// The window of cells rolls with the robot by whole cells, so nothing is ever rasterised again.
// A cell's value is 0: unknown, > 0: occupied, < 0: free. One view changes a cell once: `hit` if
// enough of its points lie in it, −`miss` if the camera looks through it, nothing where it cannot
// see. Evidence for an obstacle wins over evidence against it within a view.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "openral/depth_pyramid.hpp"
#include "openral/model.hpp"

namespace openral {

struct MapperOptions {
  double resolution = 0.025;  // m, edge of a cell
  std::array<int, 3> dims{160, 160, 80};
  int hit = 3, miss = 1;   // weight of one view
  int low = -4, high = 9;  // no cell becomes more certain than this
  double share = 0.04;     // of a cell's cross-section that must be hit in a depth image to count
  double padding = 0.05;   // m around the body in which nothing is believed
};

struct Lens {
  double fx = 0, fy = 0, cx = 0, cy = 0;  // pixels; pixel (0, 0) has its centre at 0, 0
};

// What became of one view.
struct ViewReport {
  std::size_t measured = 0;                  // pixels or points with a usable depth
  std::size_t hit = 0, carved = 0, own = 0;  // cells occupied, seen through, ignored as body
};

class Mapper {
 public:
  static constexpr int kBlock = 8;  // cells along the edge of a block

  // Throws std::invalid_argument for numbers that make no map.
  explicit Mapper(MapperOptions options);

  const MapperOptions& options() const { return options_; }
  Vec3 origin() const;  // lowest corner of cell (0, 0, 0) in the lattice's frame
  std::size_t cells() const { return value_.size(); }
  std::size_t memory() const;  // bytes held

  // Rolls the window so that its middle is within a block of `centre`, in height at it; what leaves
  // is forgotten.
  void recentre(const Vec3& centre);
  void reset();

  // Depth along the optical axis in metres, row by row. +inf: nothing within range, seen through
  // as far as `farthest`; NaN, zero and less: not measured. `camera`: optical frame in the lattice.
  // Nothing within `padding` of `body` and `held` (in the lattice's frame) is taken for an
  // obstacle; where the body is, is free.
  ViewReport insert_depth(const float* depth, int width, int height, const Lens& lens,
                          const Pose& camera, double nearest, double farthest,
                          std::span<const Capsule> body, std::span<const Capsule> held = {});
  // Points in a sensor's frame, three floats each; rays are carved from the sensor's origin. A cell
  // with a point in it is hit: how dense a cloud should be is not known.
  ViewReport insert_points(const float* points, std::size_t count, const Pose& sensor,
                           double nearest, double farthest, std::span<const Capsule> body,
                           std::span<const Capsule> held = {});

  // What is occupied in the shapes was taken away, and may be in part something else: it is not
  // told until a view hits it again, and the evidence is kept for `show`.
  void hide(std::span<const Capsule> shapes, double padding);
  // What was hidden is told again.
  void show() { hidden_.clear(); }
  // Unknown cells in the shapes are free: where the robot stands when the map begins.
  void assume_free(std::span<const Capsule> shapes, double padding);
  // All evidence fades by one step, but what is free around the shapes stays so: a robot whose
  // surroundings became unknown could not move out of them.
  void decay(std::span<const Capsule> shapes, double padding);

  // One bit a cell, x fastest; the output has (cells + 7) / 8 bytes. Return how many are set.
  std::size_t pack_occupied(std::uint8_t* bits) const;
  std::size_t pack_unknown(std::uint8_t* bits) const;

 private:
  static constexpr std::uint8_t kHit = 254, kOwn = 255;  // marks in count_

  struct Camera;  // the view in units of cells
  struct Sight;   // the same and what was measured

  std::size_t index(int x, int y, int z) const {
    return static_cast<std::size_t>(x) +
           static_cast<std::size_t>(options_.dims[0]) *
               (static_cast<std::size_t>(y) +
                static_cast<std::size_t>(options_.dims[1]) * static_cast<std::size_t>(z));
  }
  template <class Visit>
  void within(const Capsule& shape, double padding, Visit&& visit);
  bool mark(std::size_t cell);
  void mark_own(std::span<const Capsule> body, std::span<const Capsule> held, ViewReport& report);
  void show_hits();
  std::size_t in_window(const std::array<std::int64_t, 3>& place) const;
  void count(std::size_t cell) {
    std::uint8_t& n = count_[cell];
    if (n == 0) touched_.push_back(static_cast<std::uint32_t>(cell));
    n = static_cast<std::uint8_t>(n + (n < kHit - 1 ? 1 : 0));
  }
  void raise(std::size_t cell) {
    const int next = value_[cell] + options_.hit;
    value_[cell] = static_cast<std::int8_t>(next < options_.high ? next : options_.high);
  }
  void lower(std::size_t cell) {
    const int next = value_[cell] - options_.miss;
    value_[cell] = static_cast<std::int8_t>(next > options_.low ? next : options_.low);
  }
  void count_pixels(const float* depth, const Camera& camera, ViewReport& report);
  void settle_hits(const Camera& camera, ViewReport& report);
  void carve(const Sight& sight, ViewReport& report);
  bool carve_block(const Sight& sight, const int* at, int edge, ViewReport& report);
  void carve_cells(const Sight& sight, const int* from, int edge, ViewReport& report);
  void free_cells(const int* from, int edge);
  void carve_ray(const std::array<float, 3>& from, std::size_t to, ViewReport& report);
  void forget_marks();

  MapperOptions options_;
  std::array<std::int64_t, 3> first_{};              // lattice index of cell (0, 0, 0)
  std::vector<std::int8_t> value_;                   // log-odds
  std::vector<std::uint8_t> count_;                  // points of this view, or a mark
  std::vector<std::uint32_t> touched_;               // cells with a count
  std::vector<float> columns_;                       // ray slopes by pixel column
  std::vector<std::array<std::int64_t, 3>> hidden_;  // lattice indices
  DepthPyramid pyramid_;
};

}  // namespace openral
