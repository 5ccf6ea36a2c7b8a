// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "domain_decomposition/bddc/preconditioner/preconditioner.hpp"

#include <echelon/array.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::bddc {

/// BddcPreconditioner for vectors in the memory of a device without kernels for subdomains: the host works on
/// copies of the vectors. Members as those of BddcPreconditioner; each waits.
class HostedPreconditioner {
 public:
  struct Scratch {
    BddcPreconditioner::Scratch host;
    std::vector<double> from, to, rows;
    [[nodiscard]] std::size_t bytes() const {
      return host.bytes() + (from.size() + to.size() + rows.size()) * sizeof(double);
    }
  };

  [[nodiscard]] Outcome setup(const std::vector<SubdomainMatrix>& subdomains, std::int64_t unknowns,
                              const Dense<double>& vectors, PreconditionerSettings settings) {
    device_ = std::exchange(settings.device, Device());
    unknowns_ = unknowns;
    return host_.setup(subdomains, unknowns, vectors, settings);
  }

  [[nodiscard]] std::int64_t interface_size() const { return host_.interface_size(); }
  [[nodiscard]] Scratch make_scratch() const {
    return {host_.make_scratch(), vector_of_rows(), vector_of_rows(), vector_of_rows()};
  }
  [[nodiscard]] std::vector<Statistic> statistics() const { return host_.statistics(); }
  [[nodiscard]] std::size_t bytes() const { return host_.bytes(); }

  void precondition(Scratch& scratch, const double* r, double* z) const {
    fetch(r, interface_size(), scratch.from);
    host_.precondition(scratch.host, scratch.from.data(), scratch.to.data());
    put(scratch.to, interface_size(), z);
  }
  void multiply(Scratch& scratch, const double* x, double* y) const {
    fetch(x, interface_size(), scratch.from);
    host_.multiply(scratch.host, scratch.from.data(), scratch.to.data());
    put(scratch.to, interface_size(), y);
  }
  void reduce(Scratch& scratch, const double* r, double* g, double* z) const {
    fetch(r, unknowns_, scratch.from);
    fetch(z, unknowns_, scratch.rows);
    host_.reduce(scratch.host, scratch.from.data(), scratch.to.data(), scratch.rows.data());
    put(scratch.to, interface_size(), g);
    put(scratch.rows, unknowns_, z);
  }
  void extend(Scratch& scratch, const double* u, double* z) const {
    fetch(u, interface_size(), scratch.from);
    fetch(z, unknowns_, scratch.rows);
    host_.extend(scratch.host, scratch.from.data(), scratch.rows.data());
    put(scratch.rows, unknowns_, z);
  }
  void apply(Scratch& scratch, const double* r, double* z) const {
    fetch(r, unknowns_, scratch.from);
    host_.apply(scratch.host, scratch.from.data(), scratch.to.data());
    put(scratch.to, unknowns_, z);
  }

 private:
  [[nodiscard]] std::vector<double> vector_of_rows() const {
    return std::vector<double>(static_cast<std::size_t>(unknowns_));
  }
  void fetch(const double* from, std::int64_t count, std::vector<double>& to) const {
    memory_detail::copy(Device(), to.data(), device_, from, static_cast<std::size_t>(count) * sizeof(double));
  }
  void put(const std::vector<double>& from, std::int64_t count, double* to) const {
    memory_detail::copy(device_, to, Device(), from.data(), static_cast<std::size_t>(count) * sizeof(double));
  }

  Device device_;
  std::int64_t unknowns_ = 0;
  BddcPreconditioner host_;
};

}  // namespace echelon::bddc
