// SPDX-License-Identifier: BSD-3-Clause
// Schur complements of sparse matrices on a GPU by the host.
#include "domain_decomposition/schur/implementation.hpp"
#include "matrix/host_copy.hpp"

#include <echelon/linalg.hpp>

#include <support/scalar_list.hpp>

#include <cstdint>
#include <utility>

namespace echelon::schur {

namespace {

template <class T>
class HostElimination final : public InteriorElimination<T> {
 public:
  HostElimination(const Csr<T>& A, const InterfacePartition& partition, const Device& device,
                  const SchurOptions& options)
      : device_(device),
        A_(A.to(Device())),
        elimination_(sparse_elimination_on<HostTarget>(A_, partition, A_.device(), options)) {}

  Outcome eliminate(SchurFactorization factorization) override {
    Outcome outcome = elimination_->eliminate(factorization);
    if (outcome.ok()) complement_ = elimination_->complement().to(device_);
    return outcome;
  }

  [[nodiscard]] const Dense<T>& complement() const override { return complement_; }
  [[nodiscard]] std::optional<Inertia> inertia() const override { return elimination_->inertia(); }
  [[nodiscard]] std::size_t bytes() const override { return complement_.bytes(); }

  void reduce(Equations equations, DenseView<const T> B, DenseView<T> G) const override {
    const HostCopy<T> b{MatrixRef<T>(B)};
    Dense<T> g(Device(), G.rows(), G.columns());
    elimination_->reduce(equations, b.matrix().dense(), g);
    to_device(g, G);
  }

  void expand(Equations equations, DenseView<const T> X_B, DenseView<const T> B,
              DenseView<T> X) const override {
    const HostCopy<T> x_B{MatrixRef<T>(X_B)};
    const HostCopy<T> b{MatrixRef<T>(B.data() == nullptr ? X_B : B)};
    Dense<T> x(Device(), X.rows(), X.columns());
    elimination_->expand(equations, x_B.matrix().dense(),
                         B.data() == nullptr ? DenseView<const T>{} : b.matrix().dense(), x);
    to_device(x, X);
  }

 private:
  void to_device(const Dense<T>& from, DenseView<T> to) const {
    const Dense<T> copy = from.to(device_);
    add<T>(T{1}, copy.view(), T{0}, copy.view(), to);
  }

  Device device_;
  Csr<T> A_;
  std::unique_ptr<InteriorElimination<T>> elimination_;
  Dense<T> complement_;
};

}  // namespace

template <class T>
std::unique_ptr<InteriorElimination<T>> sparse_elimination_on_host(const Csr<T>& A,
                                                                   const InterfacePartition& partition,
                                                                   const Device& device,
                                                                   const SchurOptions& options) {
  return std::make_unique<HostElimination<T>>(A, partition, device, options);
}

#define ECHELON_INSTANTIATE(T)                                                 \
  template std::unique_ptr<InteriorElimination<T>> sparse_elimination_on_host( \
      const Csr<T>&, const InterfacePartition&, const Device&, const SchurOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::schur
