// SPDX-License-Identifier: BSD-3-Clause
/// Distribution of a Problem, which process 0 holds, to all processes.
#pragma once

#include "problem.hpp"

#include <petscmat.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace echelon::petsc {

class Distribution {
 public:
  /// Sends each process its share; `problem` is empty in all processes but 0. Collective.
  PetscErrorCode send(const std::optional<Problem>& problem, Division division, PetscInt block_size);
  ~Distribution();
  Distribution() = default;
  Distribution(const Distribution&) = delete;
  Distribution& operator=(const Distribution&) = delete;

  [[nodiscard]] Mat matrix() const { return A_; }
  [[nodiscard]] PetscInt right_hand_sides() const { return columns_; }
  [[nodiscard]] const std::vector<PetscMPIInt>& rows_of_parts() const { return rows_; }

  /// A vector's elements of this process from column j of a matrix in process 0, and back.
  PetscErrorCode scatter(const Dense<double>* columns, std::int64_t j, Vec x) const;
  PetscErrorCode gather(Vec x, Dense<double>* columns, std::int64_t j) const;

 private:
  PetscErrorCode send_sizes(const std::optional<Problem>& problem);
  PetscErrorCode make_rows(const Part& part, PetscInt block_size);
  PetscErrorCode make_subdomain(const Part& part, PetscInt block_size);
  PetscErrorCode set_near_null_space(const std::optional<Problem>& problem);
  [[nodiscard]] PetscInt own_rows() const;

  Mat A_ = nullptr;
  PetscMPIInt rank_ = 0;
  PetscMPIInt processes_ = 1;
  std::vector<PetscMPIInt> rows_;    // of each process
  std::vector<PetscMPIInt> begins_;  // first row of each process
  PetscInt columns_ = 0;
  PetscInt null_vectors_ = 0;
};

}  // namespace echelon::petsc
