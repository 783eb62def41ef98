#include "check.hpp"

int main() {
  int passed = 0, failed = 0;
  for (const testing::Test& test : testing::tests()) {
    const int before = testing::failures;
    test.run();
    const bool ok = testing::failures == before;
    std::printf("%s %s\n", ok ? "ok  " : "FAIL", test.name);
    (ok ? passed : failed)++;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
