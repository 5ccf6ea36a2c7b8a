// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/domain_decomposition/bddc.hpp>

#include <cstdint>
#include <vector>

namespace echelon::bddc {

/// Implemented by methods that use matrices of subdomains or a partition of the rows.
class SubdomainUser {
 public:
  SubdomainUser() = default;
  SubdomainUser(const SubdomainUser&) = delete;
  SubdomainUser& operator=(const SubdomainUser&) = delete;
  virtual ~SubdomainUser() = default;
  /// Sets checked matrices for later set-ups; none removes them.
  virtual void set_subdomain_matrices(std::vector<SubdomainMatrix> subdomains) = 0;
  /// Sets a checked partition for later set-ups; an empty one removes it.
  virtual void set_partition(std::vector<std::int32_t> subdomain_of_row) = 0;
};

}  // namespace echelon::bddc
