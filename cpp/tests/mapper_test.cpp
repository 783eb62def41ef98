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

TEST(taken_things_are_cleared_and_evidence_fades) {
  Mapper m = small();
  look(m, wall(0.725F));
  const Capsule cup{0, {0.725, 0.025, 0.0}, {0.725, 0.025, 0.05}, 0.06};
  m.clear({&cup, 1}, 0.05);
  CHECK(at(m, {0.725, 0.025, 0.025}) == -1);
  CHECK(at(m, {0.725, 0.225, 0.025}) == 1);
  for (int i = 0; i < 3; ++i) m.decay();
  CHECK(at(m, {0.725, 0.225, 0.025}) == 0);
  m.assume_free({&cup, 1}, 0.05);
  CHECK(at(m, {0.725, 0.025, 0.025}) == -1);
  CHECK(at(m, {0.725, 0.225, 0.025}) == 0);
}

// Whatever the picture and wherever the camera: a free cell's middle is in front of the surface.
TEST(no_cell_is_freed_that_the_camera_cannot_look_through) {
  Random r(11);
  for (int round = 0; round < 40; ++round) {
    Mapper m = small();
    std::vector<float> depth(kWidth * kHeight);
    for (float& z : depth) z = static_cast<float>(uniform(r, 0.05, 1.6));
    for (int i = 0; i < 200; ++i)
      depth[static_cast<std::size_t>(pick(r, 0, kWidth * kHeight - 1))] =
          std::numeric_limits<float>::quiet_NaN();
    for (int i = 0; i < 4; ++i) {  // flat patches, so that whole blocks are free
      const int u0 = pick(r, 0, kWidth - 40), v0 = pick(r, 0, kHeight - 40);
      const auto z = static_cast<float>(uniform(r, 0.6, 1.6));
      for (int v = v0; v < v0 + 40; ++v)
        for (int u = u0; u < u0 + 40; ++u) depth[static_cast<std::size_t>(v * kWidth + u)] = z;
    }
    const double a = uniform(r, -3, 3);
    const Pose turn{{std::cos(a), -std::sin(a), 0, std::sin(a), std::cos(a), 0, 0, 0, 1},
                    {uniform(r, -1.4, 1.4), uniform(r, -1.4, 1.4), uniform(r, -1.4, 1.4)}};
    const Pose camera = turn * kForward;
    m.insert_depth(depth.data(), kWidth, kHeight, kLens, camera, 0.1, 5, {});
    const Answers answers(m);
    const Vec3 o = m.origin();
    for (int x = 0; x < 48; ++x)
      for (int y = 0; y < 48; ++y)
        for (int z = 0; z < 48; ++z) {
          const Vec3 p{o[0] + (x + 0.5) * kRes, o[1] + (y + 0.5) * kRes, o[2] + (z + 0.5) * kRes};
          if (answers.at(p) != -1) continue;
          double s[3];
          for (std::size_t i = 0; i < 3; ++i) {
            s[i] = 0;
            for (std::size_t k = 0; k < 3; ++k)
              s[i] += camera.rotation[3 * k + i] * (p[k] - camera.translation[k]);
          }
          const int u = static_cast<int>(kLens.cx + kLens.fx * s[0] / s[2] + 0.5);
          const int v = static_cast<int>(kLens.cy + kLens.fy * s[1] / s[2] + 0.5);
          CHECK(u >= 0 && v >= 0 && u < kWidth && v < kHeight && s[2] > 0);
          if (u < 0 || v < 0 || u >= kWidth || v >= kHeight) continue;
          CHECK(static_cast<double>(depth[static_cast<std::size_t>(v * kWidth + u)]) > s[2]);
        }
  }
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
