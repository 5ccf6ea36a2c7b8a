// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/own_signals.hpp"

#include "sparse_direct/ordering/metis.hpp"
#include "support/patterns.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace echelon::sparse_direct {
namespace {

std::atomic<int> received = 0;

void count_signal(int /*number*/, siginfo_t* /*info*/, void* /*context*/) {
  ++received;
}

/// A handler of the application for the lifetime of the object.
class CountedSignal {
 public:
  explicit CountedSignal(int number) : number_(number) {
    struct sigaction action = {};
    action.sa_sigaction = count_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(number, &action, &before_);
    received = 0;
  }
  CountedSignal(const CountedSignal&) = delete;
  CountedSignal& operator=(const CountedSignal&) = delete;
  ~CountedSignal() { sigaction(number_, &before_, nullptr); }

  [[nodiscard]] bool unchanged() const {
    struct sigaction action = {};
    sigaction(number_, nullptr, &action);
    constexpr int flags = SA_SIGINFO | SA_RESTART;
    return action.sa_sigaction == count_signal && (action.sa_flags & flags) == flags;
  }

 private:
  int number_;
  struct sigaction before_ = {};
};

bool is_blocked(int number) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, number) == 1;
}

class OwnSignals : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    GTEST_SKIP() << "with the thread sanitizer, calls have no process of their own";
#endif
#endif
  }
};

TEST_F(OwnSignals, Call_ResultsArrive) {
  const SharedMemory memory(sizeof(int));
  auto* const result = static_cast<int*>(memory.data());
  EXPECT_EQ(call_with_own_signals([&] { *result = 42; }), CallEnd::returned);
  EXPECT_EQ(*result, 42);
}

TEST_F(OwnSignals, RaisedSignals_StayInTheCall) {
  for (const int number : {SIGABRT, SIGTERM}) {
    const CountedSignal handler(number);
    EXPECT_EQ(call_with_own_signals([&] { (void)raise(number); }), CallEnd::raised);
    EXPECT_EQ(received, 0);
    EXPECT_TRUE(handler.unchanged());
    EXPECT_FALSE(is_blocked(number));
  }
}

TEST_F(OwnSignals, HandlersOfTheCall_StayInTheCall) {
  const CountedSignal handler(SIGTERM);
  const SharedMemory memory(sizeof(bool));
  const CallEnd end = call_with_own_signals([&] {
    (void)std::signal(SIGTERM, SIG_IGN);
    (void)raise(SIGTERM);
    *static_cast<bool*>(memory.data()) = true;
  });
  EXPECT_EQ(end, CallEnd::returned);
  EXPECT_TRUE(*static_cast<bool*>(memory.data()));
  EXPECT_TRUE(handler.unchanged());
  EXPECT_EQ(received, 0);
}

TEST_F(OwnSignals, Fault_EndsTheCallOnly) {
  EXPECT_EQ(call_with_own_signals([] { (void)raise(SIGKILL); }), CallEnd::killed);
}

TEST_F(OwnSignals, SignalToTheProcess_ReachesItsHandler) {
  const CountedSignal handler(SIGTERM);
  const pid_t caller = getpid();
  const CallEnd end = call_with_own_signals([&] { kill(caller, SIGTERM); });
  EXPECT_EQ(end, CallEnd::returned);
  EXPECT_EQ(received, 1);
}

TEST_F(OwnSignals, StandardErrorOfTheCall_Discarded) {
  testing::internal::CaptureStderr();
  call_with_own_signals([] { (void)!write(STDERR_FILENO, "text", 4); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(OwnSignals, Metis_HandlersUnchangedAtAnyTime) {
  const CountedSignal terminate(SIGTERM);
  const CountedSignal abort(SIGABRT);
  const PatternStorage grid = grid_pattern(60, 60);
  std::atomic<int> running = 2;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int repetition = 0; repetition < 10; ++repetition) (void)metis_ordering(grid.view());
      --running;
    });
  }
  std::int64_t changes = 0;
  int sent = 0;
  while (running > 0) {
    changes += terminate.unchanged() && abort.unchanged() ? 0 : 1;
    received = 0;
    kill(getpid(), SIGTERM);  // pending signals of one number are one signal
    while (received == 0) std::this_thread::yield();
    ++sent;
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(changes, 0);
  EXPECT_GT(sent, 0);
}

}  // namespace
}  // namespace echelon::sparse_direct
