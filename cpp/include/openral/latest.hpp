// A slot in which the latest value wins: writers never wait for the reader, the reader never
// waits for writers and never sees a half-written value. One reader; writers take turns.
#pragma once

#include <atomic>
#include <mutex>

namespace openral {

template <class T>
class Latest {
 public:
  // Fills the spare value with `fill(T&)` on the caller's thread, then publishes it.
  template <class Fill>
  void write(Fill&& fill) {
    const std::lock_guard turn(writers_);
    fill(values_[back_]);
    back_ = middle_.exchange(back_ | kFresh, std::memory_order_acq_rel) & kIndex;
  }

  // The newest published value; stays untouched until the next call. Lock-free.
  const T& read() noexcept {
    if (middle_.load(std::memory_order_acquire) & kFresh)
      front_ = middle_.exchange(front_, std::memory_order_acq_rel) & kIndex;
    return values_[front_];
  }

 private:
  static constexpr unsigned kFresh = 4, kIndex = 3;
  T values_[3]{};
  std::mutex writers_;
  unsigned back_ = 0;
  std::atomic<unsigned> middle_{1};
  unsigned front_ = 2;
};

}  // namespace openral
