// SPDX-License-Identifier: BSD-3-Clause
/// Typed tests on the host with one thread and with several.
#pragma once

#include "backend/target.hpp"

#include <echelon/device.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace echelon::test {

template <int count>
using Threads = std::integral_constant<int, count>;
using HostThreads = testing::Types<Threads<1>, Threads<3>>;

/// Fixture with a backend of this number of threads, whatever the machine has.
template <class Threads>
class OnHost : public testing::Test {
 public:
  Host backend{Threads::value == 1 ? Device::serial() : Device::openmp(Threads::value)};
};

}  // namespace echelon::test
