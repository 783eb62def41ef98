// The lane code itself, built here once more under a name of its own.
#define OPENRAL_LANES under_test
#include "check.hpp"
#include "draw.hpp"
#include "openral/posing.hpp"
#include "openral/voxel_test.hpp"

using namespace testing;
namespace lanes = openral::under_test;

namespace {

double norm(const Vec3& v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }
Vec3 placed(const Pose& p, const Vec3& v) {
  Vec3 out = p.translation;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k) out[i] += p.rotation[3 * i + k] * v[k];
  return out;
}
// Places of both ends of every capsule in double precision.
std::vector<Vec3> ends(const RobotModel& m, const std::vector<double>& q) {
  const Tree tree(m.joints, m.coordinates.size());
  std::vector<Pose> poses(tree.links());
  tree.forward(q, poses);
  std::vector<Vec3> out;
  for (const Capsule& c : m.capsules) {
    out.push_back(placed(poses[static_cast<std::size_t>(c.link)], c.p0));
    out.push_back(placed(poses[static_cast<std::size_t>(c.link)], c.p1));
  }
  return out;
}

}  // namespace

TEST(sine_and_cosine_are_within_four_rounding_units) {
  Random r(2);
  for (int round = 0; round < 4000; ++round) {
    alignas(32) float x[8], s[8], c[8];
    for (float& v : x) v = static_cast<float>(uniform(r, -3.14159265, 3.14159265));
    lanes::V sine, cosine;
    lanes::sincos(lanes::load(x), sine, cosine);
    lanes::store(s, sine);
    lanes::store(c, cosine);
    for (int i = 0; i < 8; ++i) {
      CHECK_LE(std::fabs(static_cast<double>(s[i]) - std::sin(static_cast<double>(x[i]))),
               4.0 / (1 << 24));
      CHECK_LE(std::fabs(static_cast<double>(c[i]) - std::cos(static_cast<double>(x[i]))),
               4.0 / (1 << 24));
    }
  }
}

TEST(float_capsules_are_within_their_slack_of_the_double_ones) {
  Random r(3);
  double worst = 0;
  for (int round = 0; round < 300; ++round) {
    const RobotModel m = robot(r);
    const Skeleton s(m);
    lanes::Configurations at;
    std::vector<std::vector<double>> q;
    for (int lane = 0; lane < 8; ++lane) {
      q.push_back(configuration(r, m));
      for (std::size_t f = 1; f < s.frames.size(); ++f) {
        const MovingFrame& frame = s.frames[f];
        const double theta =
            frame.multiplier * q.back()[static_cast<std::size_t>(frame.coordinate)] + frame.offset;
        at.theta[f][lane] = static_cast<float>(frame.revolute ? lanes::reduced(theta) : theta);
      }
    }
    lanes::Posed posed;
    lanes::pose(s, at, false, posed);
    for (int lane = 0; lane < 8; ++lane) {
      const std::vector<Vec3> truth = ends(m, q[static_cast<std::size_t>(lane)]);
      for (std::size_t c = 0; c < s.capsules.size(); ++c) {
        const lanes::V3 p = lanes::segment(s.capsules[c], posed, static_cast<int>(c)).p;
        const double error = norm({static_cast<double>(p.x[lane]) - truth[2 * c][0],
                                   static_cast<double>(p.y[lane]) - truth[2 * c][1],
                                   static_cast<double>(p.z[lane]) - truth[2 * c][2]});
        // The angle's own rounding is the inflation's to cover; here it must fit as well.
        worst = std::max(worst, error / static_cast<double>(s.capsules[c].slack));
        CHECK_LE(error, static_cast<double>(s.capsules[c].slack));
      }
    }
  }
  CHECK(worst > 0.001);  // the comparison did compare something
}

TEST(levers_bound_the_motion_of_every_capsule_pair_and_tool) {
  Random r(4);
  for (int round = 0; round < 400; ++round) {
    const RobotModel m = robot(r);
    const Skeleton s(m);
    for (int sample = 0; sample < 8; ++sample) {
      const std::vector<double> a = configuration(r, m);
      std::vector<double> b = configuration(r, m);
      const double blend = sample % 2 == 0 ? 1 : 0.05;
      for (std::size_t j = 0; j < a.size(); ++j) b[j] = a[j] + blend * (b[j] - a[j]);
      const auto sum = [&](const LeverList& list) {
        double total = 1e-9;
        for (int k = list.first; k < list.last; ++k) {
          const Lever& l = s.levers[static_cast<std::size_t>(k)];
          total +=
              static_cast<double>(l.length) * std::fabs(b[static_cast<std::size_t>(l.coordinate)] -
                                                        a[static_cast<std::size_t>(l.coordinate)]);
        }
        return total;
      };
      const std::vector<Vec3> pa = ends(m, a), pb = ends(m, b);
      const auto gap = [](const Vec3& x, const Vec3& y) {
        return norm({x[0] - y[0], x[1] - y[1], x[2] - y[2]});
      };
      for (std::size_t c = 0; c < s.capsules.size(); ++c)
        for (std::size_t e = 0; e < 2; ++e)
          CHECK_LE(gap(pa[2 * c + e], pb[2 * c + e]), sum(s.capsules[c].motion));
      for (const SkeletonPair& p : s.pairs) {
        const auto i = 2 * static_cast<std::size_t>(p.a), k = 2 * static_cast<std::size_t>(p.b);
        CHECK_LE(std::fabs(gap(pa[i], pa[k]) - gap(pb[i], pb[k])), sum(p.motion));
      }
      const ToolSolver solver(s);
      const Pose ta = solver.pose(0, a.data()), tb = solver.pose(0, b.data());
      CHECK_LE(gap(ta.translation, tb.translation), sum(s.tools[0].in_base) + 1e-6);
    }
  }
}

TEST(segment_distances_never_exceed_the_truth_and_are_tight) {
  Random r(5);
  for (int round = 0; round < 1500; ++round) {
    const Vec3 a = vector(r, 0.5), da = vector(r, 0.5), b = vector(r, 0.5), db = vector(r, 0.5);
    Vec3 h{uniform(r, 0.01, 0.4), uniform(r, 0.01, 0.4), uniform(r, 0.01, 0.4)};
    const auto lane = [](const Vec3& v) {
      return lanes::V3{lanes::splat(static_cast<float>(v[0])),
                       lanes::splat(static_cast<float>(v[1])),
                       lanes::splat(static_cast<float>(v[2]))};
    };
    double pairs = 1e9, box = 1e9;
    const auto point = [](const Vec3& p, const Vec3& d, double t) {
      return Vec3{p[0] + t * d[0], p[1] + t * d[1], p[2] + t * d[2]};
    };
    for (int i = 0; i <= 200; ++i) {
      const Vec3 x = point(a, da, i / 200.0);
      const double dd = db[0] * db[0] + db[1] * db[1] + db[2] * db[2] + 1e-12;
      const double t = std::clamp(
          ((x[0] - b[0]) * db[0] + (x[1] - b[1]) * db[1] + (x[2] - b[2]) * db[2]) / dd, 0.0, 1.0);
      const Vec3 y = point(b, db, t);
      pairs = std::min(pairs, norm({x[0] - y[0], x[1] - y[1], x[2] - y[2]}));
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const double out = std::max(std::fabs(x[k]) - h[k], 0.0);
        sum += out * out;
      }
      box = std::min(box, std::sqrt(sum));
    }
    const float d1 = lanes::segment_segment({lane(a), lane(da)}, {lane(b), lane(db)})[0];
    const float d2 = lanes::segment_box({lane(a), lane(da)}, lane(h))[0];
    if (d1 == d1) CHECK_LE(static_cast<double>(d1), pairs + 2e-6);
    if (d2 == d2) CHECK_LE(static_cast<double>(d2), box + 2e-6);
    CHECK(d1 == d1 || pairs < 1e-3);
    CHECK(d2 == d2 || box < 1e-6);
    if (pairs > 0.02) CHECK_LE(pairs, static_cast<double>(d1) + 0.003);
    if (box > 0.02) CHECK_LE(box, static_cast<double>(d2) + 0.003);
    if (lanes::bits(lanes::apart(
            lane(a) + lanes::splat(0.5F) * lane(da) - lane(b) - lanes::splat(0.5F) * lane(db),
            lane(da), lane(db), lanes::splat(0.1F))) != 0)
      CHECK_LE(0.1, pairs + 1e-5);
    if (lanes::bits(lanes::apart_box({lane(a), lane(da)}, lane(h), lanes::splat(0.1F))) != 0)
      CHECK_LE(0.1, box + 1e-5);
  }
}

TEST(voxel_test_agrees_with_brute_force_over_all_cells) {
  Random r(6);
  int clear = 0, hits = 0;
  for (int round = 0; round < 400; ++round) {
    const std::array<int, 3> shape{pick(r, 3, 30), pick(r, 3, 30), pick(r, 3, 30)};
    const double res = 0.05;
    const Vec3 origin{-0.7, -0.7, -0.7};
    std::vector<std::uint8_t> cells(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]), 0);
    std::vector<Vec3> full;
    for (int i = pick(r, 1, 12); i-- > 0;) {
      const std::array<int, 3> o{pick(r, 0, shape[0] - 1), pick(r, 0, shape[1] - 1),
                                 pick(r, 0, shape[2] - 1)};
      cells[static_cast<std::size_t>((o[0] * shape[1] + o[1]) * shape[2] + o[2])] = 1;
      full.push_back({origin[0] + (o[0] + 0.5) * res, origin[1] + (o[1] + 0.5) * res,
                      origin[2] + (o[2] + 0.5) * res});
    }
    VoxelField field;
    field.rebuild(cells.data(), shape, origin, res);
    for (int shot = 0; shot < 10; ++shot) {
      const Vec3 p = vector(r, 0.9), d = vector(r, 0.4);
      const double need = uniform(r, 0.01, 0.3);
      double truth = 1e9;
      for (int i = 0; i <= 100; ++i)
        for (const Vec3& o : full) {
          double sum = 0;
          for (std::size_t k = 0; k < 3; ++k) {
            const double out = std::max(std::fabs(p[k] + d[k] * i / 100.0 - o[k]) - res / 2, 0.0);
            sum += out * out;
          }
          truth = std::min(truth, std::sqrt(sum));
        }
      int work = 0;
      const auto f = [](const Vec3& v) {
        return lanes::Point{
            {static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2])}};
      };
      const lanes::VoxelAnswer answer =
          lanes::voxel_test(field, f(p), f(d), static_cast<float>(norm(d) / 2 * 1.000001),
                            static_cast<float>(need), static_cast<float>(need), work, 1 << 30,
                            [](float, float) { return lanes::PlainDistance{}; });
      if (answer.state == lanes::VoxelAnswer::kClear) {
        CHECK_LE(need, truth + 1e-4);
        ++clear;
      } else {
        CHECK_LE(truth, need + 0.01);
        ++hits;
      }
    }
  }
  CHECK(clear > 500 && hits > 100);
}
