// SPDX-License-Identifier: BSD-3-Clause
/// Typed tests on each backend of the host.
#pragma once

#include "backend/target.hpp"

#include <echelon/device.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace echelon::test {

using HostBackends = testing::Types<Serial, OpenMp>;

/// Fixture with a backend of type B; OpenMP has three threads, whatever the machine has.
template <class B>
class OnHostBackend : public testing::Test {
 public:
  B backend{std::is_same_v<B, Serial> ? Device::serial() : Device::openmp(3)};
};

}  // namespace echelon::test
