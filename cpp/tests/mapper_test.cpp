#include "openral/mapper.hpp"

#include <algorithm>
#include <limits>

#include "check.hpp"
#include "draw.hpp"

using namespace testing;

namespace {

constexpr double kRes = 0.05;
constexpr int kWidth = 96, kHeight = 72;
const Lens kLens{80, 80, 47.5, 35.5};
// Looks along +x: optical z is the lattice's x, optical x its −y, optical y its −z.
const Pose kForward{{0, 0, 1, -1, 0, 0, 0, -1, 0}, {0, 0, 0}};

Mapper small(double padding = 0.05) {
  return Mapper({kRes, {48, 48, 48}, 3, 1, -4, 9, 0.04, padding});
}

// What a map says of a place in its lattice: occupied 1, free −1, unknown 0.
struct Answers {
  explicit Answers(const Mapper& m)
      : origin(m.origin()), dims(m.options().dims), occupied(m.cells() / 8), unknown(occupied) {
    m.pack_occupied(occupied.data());
    m.pack_unknown(unknown.data());
  }
  int at(const Vec3& p) const {
    std::size_t index = 0, stride = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      index += stride * static_cast<std::size_t>((p[i] - origin[i]) / kRes);
      stride *= static_cast<std::size_t>(dims[i]);
    }
    if ((occupied[index / 8] >> (index % 8) & 1) != 0) return 1;
    return (unknown[index / 8] >> (index % 8) & 1) != 0 ? 0 : -1;
  }
  Vec3 origin;
  std::array<int, 3> dims;
  std::vector<std::uint8_t> occupied, unknown;
};

int at(const Mapper& m, const Vec3& p) { return Answers(m).at(p); }

std::vector<float> wall(float depth) { return std::vector<float>(kWidth * kHeight, depth); }

ViewReport look(Mapper& m, const std::vector<float>& depth, const Pose& pose = kForward,
                std::span<const Capsule> body = {}) {
  return m.insert_depth(depth.data(), kWidth, kHeight, kLens, pose, 0.1, 5, body);
}

}  // namespace

TEST(a_wall_is_occupied_free_in_front_and_unknown_behind) {
  Mapper m = small();
  const ViewReport report = look(m, wall(0.725F));
  CHECK(report.measured == kWidth * kHeight);
  CHECK(report.hit > 50 && report.carved > 50);
  for (const double y : {-0.125, 0.025, 0.125}) {
    CHECK(at(m, {0.725, y, 0.025}) == 1);
    CHECK(at(m, {0.425, y, 0.025}) == -1);
    CHECK(at(m, {0.925, y, 0.025}) == 0);
  }
  CHECK(at(m, {0.725, 1.0, 0.025}) == 0);  // beside the picture
  CHECK(at(m, {-0.5, 0, 0.025}) == 0);     // behind the camera
}

TEST(what_appears_is_believed_in_two_views_and_what_is_gone_is_cleared) {
  Mapper m = small();
  for (int i = 0; i < 20; ++i) look(m, wall(1.025F));
  CHECK(at(m, {0.725, 0.025, 0.025}) == -1);
  look(m, wall(0.725F));
  look(m, wall(0.725F));
  CHECK(at(m, {0.725, 0.025, 0.025}) == 1);
  for (int i = 0; i < 20; ++i) look(m, wall(0.725F));
  int views = 0;
  while (at(m, {0.725, 0.025, 0.025}) == 1 && ++views < 50) look(m, wall(1.025F));
  CHECK(views >= 5 && views <= 12);
  CHECK(at(m, {1.025, 0.025, 0.025}) == 1);
}

TEST(nothing_measured_changes_nothing_and_infinity_is_seen_through) {
  Mapper m = small();
  look(m, wall(0.725F));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float nothing : {nan, 0.0F, -1.0F}) {
    const ViewReport report = look(m, wall(nothing));
    CHECK(report.measured == 0 && report.hit == 0 && report.carved == 0);
  }
  CHECK(at(m, {0.725, 0.025, 0.025}) == 1);
  for (int i = 0; i < 12; ++i) look(m, wall(std::numeric_limits<float>::infinity()));
  CHECK(at(m, {0.725, 0.025, 0.025}) == -1);
}

TEST(the_window_rolls_by_whole_cells_and_keeps_every_cell_in_its_place) {
  Random r(5);
  Mapper m = small();
  look(m, wall(0.725F));
  for (int round = 0; round < 60; ++round) {
    m.recentre({uniform(r, 0, 0.6), uniform(r, -0.7, 0.7), uniform(r, -0.7, 0.7)});
    const Vec3 o = m.origin();
    for (std::size_t i = 0; i < 3; ++i)
      CHECK_LE(std::abs(o[i] / kRes - std::round(o[i] / kRes)), 1e-9);
    CHECK(at(m, {0.725, 0.025, 0.025}) == 1);
    CHECK(at(m, {0.425, 0.025, 0.025}) == -1);
  }
  m.recentre({50, 0, 0});  // everything has left
  std::vector<std::uint8_t> bits(m.cells() / 8);
  CHECK(m.pack_occupied(bits.data()) == 0);
  CHECK(m.pack_unknown(bits.data()) == m.cells());
}

TEST(the_robots_own_body_is_no_obstacle_and_its_padding_eats_none) {
  Mapper m = small(0.2);
  const Capsule arm{0, {0.7, -0.4, 0.0}, {0.7, 0.4, 0.0}, 0.1};
  const ViewReport report = look(m, wall(0.725F), kForward, {&arm, 1});
  CHECK(report.own > 0);
  CHECK(at(m, {0.725, 0.025, 0.025}) == -1);  // inside the body
  CHECK(at(m, {0.725, 0.025, 0.175}) <= 0);   // in the padding: not believed
  CHECK(at(m, {0.725, 0.025, 0.3251}) == 1);  // beyond it
  Mapper seen = small(0.2);
  look(seen, wall(0.725F));
  for (int i = 0; i < 30; ++i) look(seen, wall(0.725F), kForward, {&arm, 1});
  CHECK(at(seen, {0.725, 0.025, 0.175}) == 1);  // seen before the arm came: stays
}

TEST(points_make_the_map_that_their_depth_image_makes) {
  Mapper by_image = small(), by_points = small();
  std::vector<float> points;
  for (int v = 0; v < kHeight; ++v)
    for (int u = 0; u < kWidth; ++u) {
      points.push_back(static_cast<float>((u - kLens.cx) / kLens.fx * 0.725));
      points.push_back(static_cast<float>((v - kLens.cy) / kLens.fy * 0.725));
      points.push_back(0.725F);
    }
  look(by_image, wall(0.725F));
  by_points.insert_points(points.data(), points.size() / 3, kForward, 0.1, 5, {});
  std::vector<std::uint8_t> a(by_image.cells() / 8), b(a.size());
  by_image.pack_occupied(a.data());
  by_points.pack_occupied(b.data());
  CHECK(std::equal(a.begin(), a.end(), b.begin()));
  CHECK(at(by_points, {0.425, 0.025, 0.025}) == -1);
  CHECK(at(by_points, {0.925, 0.025, 0.025}) == 0);
}

// What is taken away may stand on something that its capsule reaches into.
TEST(taken_things_are_hidden_and_their_evidence_is_kept) {
  const Vec3 place{0.725, 0.025, 0.025}, beside{0.725, 0.225, 0.025};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Mapper m = small();
  look(m, wall(0.725F));
  const Capsule cup{0, {0.725, 0.025, 0.0}, {0.725, 0.025, 0.05}, 0.06};
  std::vector<std::uint8_t> bits(m.cells() / 8);
  const std::size_t before = m.pack_occupied(bits.data());
  m.hide({&cup, 1}, 0.05);
  const std::size_t hidden = before - m.pack_occupied(bits.data());
  CHECK(hidden > 4 && hidden < before);
  CHECK(at(m, place) == -1 && at(m, beside) == 1);
  look(m, wall(nan));
  m.insert_depth(wall(0.725F).data(), kWidth, kHeight, kLens, kForward, 0.1, 5, {}, {&cup, 1});
  CHECK(at(m, place) == -1);  // it is held there: what is seen is the cup
  m.recentre({0.5, 0.5, 0});
  CHECK(at(m, place) == -1);
  m.show();
  CHECK(at(m, place) == 1);  // held things free nothing
  m.hide({&cup, 1}, 0.05);
  look(m, wall(0.725F));  // the cup is gone, and something is there
  CHECK(at(m, place) == 1);
  m.hide({&cup, 1}, 0.05);
  m.reset();
  look(m, wall(0.725F));
  CHECK(at(m, place) == 1);
}

TEST(evidence_fades_but_not_the_free_space_around_the_robot) {
  const Capsule arm{0, {0.2, 0.8, 0.0}, {0.2, 1.0, 0.0}, 0.05};
  const Vec3 wall_there{0.725, 0.225, 0.025}, seen_free{0.425, 0.025, 0.025};
  const Vec3 around{0.225, 0.875, 0.125}, blocked{0.225, 0.675, 0.025};
  Mapper m = small();
  look(m, wall(0.725F));
  m.assume_free({&arm, 1}, 0.1);
  const float there[] = {0.225F, 0.675F, 0.025F};
  m.insert_points(there, 1, {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {}}, 0.1, 5, {});
  CHECK(at(m, around) == -1 && at(m, blocked) == 1);
  for (int i = 0; i < 3; ++i) m.decay({&arm, 1}, 0.1);
  CHECK(at(m, wall_there) == 0 && at(m, seen_free) == 0);
  CHECK(at(m, around) == -1 && at(m, blocked) == 0);  // what was seen there is not freed
}

namespace {

// What one pixel shows: its depth; that of its nearest neighbour if it alone has none; else 0.
double shown(const std::vector<float>& depth, int u, int v, double nearest) {
  const auto measured = [&](int x, int y) {
    const auto z = static_cast<double>(
        depth[static_cast<std::size_t>(y) * kWidth + static_cast<std::size_t>(x)]);
    return z >= nearest ? z : 0;
  };
  if (measured(u, v) > 0) return measured(u, v);
  int count = 0, around = -1;
  double least = 1e9;
  for (int y = std::max(v - 1, 0); y <= std::min(v + 1, kHeight - 1); ++y)
    for (int x = std::max(u - 1, 0); x <= std::min(u + 1, kWidth - 1); ++x) {
      ++around;
      if (measured(x, y) > 0) ++count, least = std::min(least, measured(x, y));
    }
  return 2 * count > around ? least : 0;
}

// A picture of noise, with flat patches, single pixels without a depth and whole holes.
std::vector<float> torn(Random& r) {
  std::vector<float> depth(kWidth * kHeight);
  for (float& z : depth) z = static_cast<float>(uniform(r, 0.05, 1.6));
  const auto patch = [&](int edge, float z) {
    const int u0 = pick(r, 0, kWidth - edge), v0 = pick(r, 0, kHeight - edge);
    for (int v = v0; v < v0 + edge; ++v)
      for (int u = u0; u < u0 + edge; ++u) depth[static_cast<std::size_t>(v * kWidth + u)] = z;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 4; ++i) patch(40, static_cast<float>(uniform(r, 0.6, 1.6)));
  for (int i = 0; i < 40; ++i) patch(1, nan);
  for (int i = 0; i < 2; ++i) patch(8, nan);
  return depth;
}

}  // namespace

// Whatever the picture and wherever the camera: all corners of a free cell are in the picture, and
// in front of what is seen there.
TEST(no_cell_is_freed_that_the_camera_cannot_look_through) {
  Random r(11);
  std::size_t freed = 0;
  for (int round = 0; round < 40; ++round) {
    Mapper m = small();
    const std::vector<float> depth = torn(r);
    const double a = uniform(r, -3, 3);
    const Pose turn{{std::cos(a), -std::sin(a), 0, std::sin(a), std::cos(a), 0, 0, 0, 1},
                    {uniform(r, -1.4, 1.4), uniform(r, -1.4, 1.4), uniform(r, -1.4, 1.4)}};
    const Pose camera = turn * kForward;
    m.insert_depth(depth.data(), kWidth, kHeight, kLens, camera, 0.1, 5, {});
    const Answers answers(m);
    const Vec3 o = m.origin();
    for (int cell = 0; cell < 48 * 48 * 48; ++cell) {
      const int place[3] = {cell % 48, cell / 48 % 48, cell / 48 / 48};
      const auto inside = [&](double x, double y, double z) {
        return Vec3{o[0] + (place[0] + x) * kRes, o[1] + (place[1] + y) * kRes,
                    o[2] + (place[2] + z) * kRes};
      };
      if (answers.at(inside(0.5, 0.5, 0.5)) != -1) continue;
      ++freed;
      for (int corner = 0; corner < 8; ++corner) {
        const Vec3 p = inside(corner & 1, corner >> 1 & 1, corner >> 2 & 1);
        double s[3];
        for (std::size_t i = 0; i < 3; ++i) {
          s[i] = 0;
          for (std::size_t k = 0; k < 3; ++k)
            s[i] += camera.rotation[3 * k + i] * (p[k] - camera.translation[k]);
        }
        const int u = static_cast<int>(std::floor(kLens.cx + kLens.fx * s[0] / s[2] + 0.5));
        const int v = static_cast<int>(std::floor(kLens.cy + kLens.fy * s[1] / s[2] + 0.5));
        CHECK(u >= 0 && v >= 0 && u < kWidth && v < kHeight && s[2] > 0);
        if (u < 0 || v < 0 || u >= kWidth || v >= kHeight) continue;
        CHECK(shown(depth, u, v, 0.1) > s[2]);
      }
    }
  }
  CHECK(freed > 1000);
}

// Real cameras leave single pixels out all the time; a hole hides what may be behind it.
TEST(single_pixels_without_a_depth_hide_nothing_and_holes_do) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Random r(3);
  std::vector<float> speckled = wall(1.025F), holed = speckled;
  for (int i = 0; i < 100; ++i)
    speckled[static_cast<std::size_t>(pick(r, 0, kHeight - 1) * kWidth + pick(r, 0, kWidth - 1))] =
        nan;
  for (int v = 30; v < 38; ++v)
    for (int u = 40; u < 45; ++u) holed[static_cast<std::size_t>(v * kWidth + u)] = nan;
  const Vec3 ahead{0.525, 0.025, 0.025};
  Mapper a = small(), b = small();
  look(a, speckled);
  look(b, holed);
  CHECK(at(a, ahead) == -1);
  CHECK(at(b, ahead) == 0);  // its middle is measured, its side is not
  CHECK(at(b, {0.725, -0.275, 0.025}) == -1);
}

TEST(numbers_that_make_no_map_are_refused) {
  const auto refused = [](auto&& make) {
    try {
      make();
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(refused([] { Mapper({kRes, {48, 50, 48}, 3, 1, -4, 9, 0.04, 0}); }));
  CHECK(refused([] { Mapper({0, {48, 48, 48}, 3, 1, -4, 9, 0.04, 0}); }));
  CHECK(refused([] { Mapper({kRes, {1024, 1024, 1024}, 3, 1, -4, 9, 0.04, 0}); }));
  CHECK(refused([] { Mapper({kRes, {48, 48, 48}, 3, 1, 4, 9, 0.04, 0}); }));
  Mapper m = small();
  const auto depth = wall(1);
  Pose nowhere = kForward;
  nowhere.translation[1] = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused([&] { look(m, depth, nowhere); }));
  CHECK(refused([&] { m.insert_depth(depth.data(), 1, 1, kLens, kForward, 0.1, 5, {}); }));
  CHECK(refused([&] { m.insert_depth(depth.data(), 96, 72, kLens, kForward, 0, 5, {}); }));
  CHECK(refused([&] { m.recentre({std::numeric_limits<double>::infinity(), 0, 0}); }));
}
