// What the fuzzer counts, and its report as JSON.
#pragma once

#include <cstdio>
#include <mutex>

#include "case.hpp"
#include "openral/verdict.hpp"

namespace fuzz {

constexpr int kModes = 10;
constexpr Mode kTried[kModes] = {
    Mode::kJointPosition, Mode::kJointTrajectory, Mode::kJointVelocity,  Mode::kJointTorque,
    Mode::kCartesianPose, Mode::kCartesianDelta,  Mode::kCartesianTwist, Mode::kBodyTwist,
    Mode::kComposite,     Mode::kGripperPosition};
// The last tally is of torque, alone or among others, on joints without an acceleration limit.
constexpr int kTallies = kModes + 1, kUnbounded = kModes;
inline const char* const kNames[kTallies] = {
    "joint_position", "joint_trajectory", "joint_velocity",  "joint_torque",
    "cartesian_pose", "cartesian_delta",  "cartesian_twist", "body_twist",
    "composite_mode", "gripper",          "unbounded_torque"};

// Kinds of behaviour that a chunk leaves room for.
enum Behaviour {
  kStopping,
  kBaseFoundMoving,
  kBaseCommanded,
  kBaseByJoints,
  kAttached,
  kAttachedToGripper,
  kGripperMoves,
  kOldState,
  kOldOdometry,
  kViewBetweenPoses,
  kViewAfterOdometry,
  kDifferential,
  kYawNearPi,
  kRecovering,
  kSlowed,
  kToolFrame,
  kJitter,
  kTracking,
  kPushed,
  kUncommanded,
  kBehaviours
};
inline const char* const kBehaviourNames[kBehaviours] = {"velocity_stops",
                                                         "base_found_moving",
                                                         "base_commanded",
                                                         "base_by_joints",
                                                         "attached",
                                                         "attached_gripper",
                                                         "gripper_moves",
                                                         "old_state",
                                                         "old_odometry",
                                                         "view_between",
                                                         "view_after_odometry",
                                                         "differential",
                                                         "yaw_near_pi",
                                                         "recovering",
                                                         "slowed",
                                                         "tool_frame",
                                                         "jitter",
                                                         "tracking",
                                                         "torque",
                                                         "uncommanded_moving"};

struct Tally {
  long chunks = 0, segments = 0, accepted = 0, accepted_segments = 0;
  long clear = 0, refused_clear = 0;  // of those audited: 2 mm beyond the margin; refused of these
  long false_accepts = 0;
  long unsolved = 0, followable = 0;  // tool paths that the kernel found no joints for; we did
};

struct Count {
  long segments = 0, accepted_segments = 0, false_accepts = 0;
};

struct Totals {
  long segments = 0, audited = 0, searched = 0;
  Tally tallies[kTallies];
  Count behaviours[kBehaviours];
  long statuses[static_cast<std::size_t>(openral::Status::kCount)] = {};
  std::vector<std::string> findings;

  void add(const Totals& o) {
    segments += o.segments;
    audited += o.audited;
    searched += o.searched;
    for (int i = 0; i < kTallies; ++i) {
      Tally& t = tallies[i];
      const Tally& u = o.tallies[i];
      t.chunks += u.chunks, t.segments += u.segments, t.accepted += u.accepted;
      t.accepted_segments += u.accepted_segments, t.clear += u.clear;
      t.refused_clear += u.refused_clear, t.false_accepts += u.false_accepts;
      t.unsolved += u.unsolved, t.followable += u.followable;
    }
    for (int i = 0; i < kBehaviours; ++i) {
      behaviours[i].segments += o.behaviours[i].segments;
      behaviours[i].accepted_segments += o.behaviours[i].accepted_segments;
      behaviours[i].false_accepts += o.behaviours[i].false_accepts;
    }
    for (std::size_t i = 0; i < std::size(statuses); ++i) statuses[i] += o.statuses[i];
    findings.insert(findings.end(), o.findings.begin(), o.findings.end());
  }
};

// Prints one JSON object; returns the exit code.
inline int report(const Totals& f, std::uint64_t seed, int jobs, double seconds) {
  long wrong = 0, accepted = 0;
  for (const Tally& t : f.tallies) wrong += t.false_accepts, accepted += t.accepted_segments;
  std::printf(
      "{\"seed\": %llu, \"jobs\": %d, \"seconds\": %.1f, \"segments\": %ld, "
      "\"accepted_segments\": %ld, \"false_accepts\": %ld, \"audited\": %ld, \"searched\": %ld, "
      "\"modes\": {",
      static_cast<unsigned long long>(seed), jobs, seconds, f.segments, accepted, wrong, f.audited,
      f.searched);
  for (int i = 0; i < kTallies; ++i) {
    const Tally& t = f.tallies[i];
    std::printf(
        "%s\"%s\": {\"chunks\": %ld, \"segments\": %ld, \"accepted\": %ld, \"accepted_segments\": "
        "%ld, \"clear\": %ld, \"refused_clear\": %ld, \"false_accepts\": %ld, "
        "\"unsolved\": %ld, \"unsolved_followable\": %ld}",
        i ? ", " : "", kNames[i], t.chunks, t.segments, t.accepted, t.accepted_segments, t.clear,
        t.refused_clear, t.false_accepts, t.unsolved, t.followable);
  }
  std::printf("}, \"behaviours\": {");
  for (int i = 0; i < kBehaviours; ++i) {
    const Count& b = f.behaviours[i];
    std::printf("%s\"%s\": {\"segments\": %ld, \"accepted_segments\": %ld, \"false_accepts\": %ld}",
                i ? ", " : "", kBehaviourNames[i], b.segments, b.accepted_segments,
                b.false_accepts);
  }
  std::printf("}, \"statuses\": {");
  bool first = true;
  for (std::size_t s = 0; s < std::size(f.statuses); ++s)
    if (f.statuses[s] > 0) {
      std::printf("%s\"%s\": %ld", first ? "" : ", ",
                  openral::status_name(static_cast<openral::Status>(s)), f.statuses[s]);
      first = false;
    }
  std::printf("}, \"findings\": [");
  for (std::size_t i = 0; i < std::min<std::size_t>(f.findings.size(), 100); ++i)
    std::printf("%s\"%s\"", i ? ", " : "", f.findings[i].c_str());
  std::printf("]}\n");
  return wrong == 0 ? 0 : 1;
}

}  // namespace fuzz
