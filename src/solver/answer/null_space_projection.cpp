// SPDX-License-Identifier: BSD-3-Clause
#include "solver/answer/null_space_projection.hpp"

#include "backend/target.hpp"
#include "linalg/dominance.hpp"
#include "solver/null_vectors.hpp"

#include <cstdint>
#include <memory>

namespace echelon {

namespace {

template <class B, class T>
class BackendProjection final : public NullSpaceProjection<T> {
 public:
  explicit BackendProjection(const Device& device) : backend_(device), parts_(device, most_null_vectors) {}

  NullSpaceBasis<T> find(const Csr<T>& A, const Dense<double>& candidates) override {
    const Device& device = backend_.device();
    NullSpaceBasis<T> none{Dense<T>(device, A.rows(), 0)};
    if (A.nonzeros() == 0 || find_asymmetry(backend_, A, 0).value != FirstIndex::none) return none;
    const Array<std::int32_t> zero_rows(device, 0);
    NullVectors<B, T> vectors(backend_, A, zero_rows);
    ConstantsOnComponents<T> constants = find_constants(backend_, A);
    vectors.add(std::move(constants.singular));
    const std::int64_t proven = vectors.count();
    if (candidates.columns() > 0)
      vectors.add_tested(null_vectors_among(backend_, A, rounded_to<T>(candidates).to(device)));
    if (vectors.count() > most_null_vectors) return none;
    return {vectors.basis(0, 0), proven};
  }

  OutsideRange remove(const NullSpaceBasis<T>& basis, T* x) override {
    return remove_null_space(backend_, basis.vectors, basis.proven, parts_.data(), x);
  }
  void project(const NullSpaceBasis<T>& basis, T* x) override {
    project_out(backend_, basis.vectors, parts_.data(), x);
    backend_.synchronize();
  }

 private:
  B backend_;
  Array<double> parts_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<NullSpaceProjection<T>> make_null_space_projection(const Device& device) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<NullSpaceProjection<T>> {
    return std::make_unique<BackendProjection<B, T>>(device);
  });
}

template std::unique_ptr<NullSpaceProjection<float>> make_null_space_projection<ThisTarget, float>(
    const Device&);
template std::unique_ptr<NullSpaceProjection<double>> make_null_space_projection<ThisTarget, double>(
    const Device&);

}  // namespace echelon
