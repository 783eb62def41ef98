#include "check.hpp"

// All tests, or those whose names begin with one of the arguments.
int main(int count, char** wanted) {
  int passed = 0, failed = 0;
  for (const testing::Test& test : testing::tests()) {
    bool chosen = count < 2;
    for (int i = 1; i < count; ++i)
      chosen = chosen || std::string(test.name).starts_with(wanted[i]);
    if (!chosen) continue;
    const int before = testing::failures;
    test.run();
    const bool ok = testing::failures == before;
    std::printf("%s %s\n", ok ? "ok  " : "FAIL", test.name);
    (ok ? passed : failed)++;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
