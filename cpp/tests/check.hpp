// A test is a function; a failed check says where and counts.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace testing {

struct Test {
  const char* name;
  void (*run)();
};
inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}
inline int failures = 0;

inline void fail(const char* file, int line, const std::string& what) {
  if (++failures < 30) std::printf("%s:%d: %s\n", file, line, what.c_str());
}

}  // namespace testing

#define TEST(name)                                        \
  static void name();                                     \
  [[maybe_unused]] static const bool registered_##name =  \
      (testing::tests().push_back({#name, &name}), true); \
  static void name()
#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) testing::fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)
#define CHECK_LE(a, b)                                                                      \
  do {                                                                                      \
    const double left = (a), right = (b);                                                   \
    if (!(left <= right))                                                                   \
      testing::fail(                                                                        \
          __FILE__, __LINE__,                                                               \
          #a " = " + std::to_string(left) + " is above " #b " = " + std::to_string(right)); \
  } while (false)
