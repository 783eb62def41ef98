// Chunks as the bytes of an openral_msgs/msg/ActionChunk, written and read.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

#include "case.hpp"
#include "openral/model.hpp"

namespace fuzz {

class Writer {
 public:
  std::vector<std::byte> bytes{std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}};
  template <class T>
  void put(T value) {
    while ((bytes.size() - 4) % sizeof(T) != 0) bytes.push_back(std::byte{0});
    const auto* p = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof(T));
  }
  void text(const std::string& s) {
    put(static_cast<std::uint32_t>(s.size() + 1));
    for (char c : s) put(c);
    put('\0');
  }
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    while ((at_ - 4) % sizeof(T) != 0) ++at_;
    if (at_ + sizeof(T) > bytes_.size()) throw std::runtime_error("a chunk ends too early");
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string text() {
    std::string out;
    for (auto left = get<std::uint32_t>(); left > 0; --left) out.push_back(get<char>());
    if (!out.empty()) out.pop_back();
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 4;
};

inline std::vector<std::byte> encode(const openral::RobotModel& m, const Case& c) {
  Writer out;
  out.put(std::int32_t{0});
  out.put(std::uint32_t{0});
  out.text("");
  out.put(std::uint64_t{1});
  for (int i = 0; i < 16; ++i) out.put(std::uint8_t{0});
  out.put(static_cast<std::uint8_t>(c.slots.size() > 1 ? Mode::kComposite : c.slots[0].mode));
  out.put(c.dt);
  out.put(static_cast<std::uint32_t>(c.rows));
  out.put(static_cast<std::uint32_t>(c.slots.size()));
  for (const Slot& s : c.slots) {
    out.text(s.name);
    out.put(static_cast<std::uint8_t>(s.mode));
    out.text(s.frame);
    out.put(static_cast<std::uint32_t>(s.named ? s.coordinates.size() : 0));
    if (s.named)
      for (int j : s.coordinates) out.text(m.coordinates[static_cast<std::size_t>(j)].name);
    out.put(static_cast<std::uint32_t>(s.width));
    out.put(static_cast<std::uint32_t>(s.data.size()));
    for (double v : s.data) out.put(v);
  }
  return out.bytes;
}

// The case with the rows and the timing that the kernel gave it.
inline Case executed(const openral::RobotModel& m, const Case& c,
                     std::span<const std::byte> bytes) {
  Case out = c;
  Reader in(bytes);
  in.get<std::int32_t>();
  in.get<std::uint32_t>();
  in.text();
  in.get<std::uint64_t>();
  for (int i = 0; i < 16; ++i) in.get<std::uint8_t>();
  in.get<std::uint8_t>();
  out.dt = in.get<double>();
  out.rows = static_cast<int>(in.get<std::uint32_t>());
  out.slots.resize(in.get<std::uint32_t>());
  for (Slot& s : out.slots) {
    in.text();
    const Mode mode = static_cast<Mode>(in.get<std::uint8_t>());
    const bool resolved = s.mode != mode;
    s.mode = mode;
    in.text();
    if (resolved) s.coordinates.clear();
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
      const std::string name = in.text();
      for (std::size_t j = 0; j < m.coordinates.size() && resolved; ++j)
        if (m.coordinates[j].name == name) s.coordinates.push_back(static_cast<int>(j));
    }
    s.width = static_cast<int>(in.get<std::uint32_t>());
    s.data.resize(in.get<std::uint32_t>());
    for (double& v : s.data) v = in.get<double>();
  }
  return out;
}

// A slowed case as it would be at full speed.
inline Case at_full_speed(Case c, double factor) {
  c.dt *= factor;
  for (Slot& s : c.slots)
    if (s.mode == Mode::kJointVelocity || s.mode == Mode::kBodyTwist)
      for (double& v : s.data) v /= factor;
  return c;
}

}  // namespace fuzz
