// SPDX-License-Identifier: BSD-3-Clause
#include "relaxation/gauss_seidel/sweeper.hpp"

#include "backend/target.hpp"
#include "relaxation/gauss_seidel/by_levels.hpp"

namespace echelon::gauss_seidel {

namespace {

template <class B, class T>
class SweeperWith final : public Sweeper<T> {
 public:
  explicit SweeperWith(const Device& device) : backend_(device), scratch_(device), skipped_(device, 1) {}

  SkippedRows sweep(Sweeps<T> sweeps) override {
    backend_.write(SkippedRows{}, skipped_.data());
    sweeps.skipped = skipped_.data();
    gauss_seidel::sweep(backend_, sweeps, scratch_);
    return backend_.read(skipped_.data());
  }
  [[nodiscard]] std::size_t bytes() const override { return scratch_.bytes(); }

 private:
  B backend_;
  SweepWorkspace<B, T> scratch_;
  Array<SkippedRows> skipped_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<Sweeper<T>> make_sweeper(const Device& device) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<Sweeper<T>> {
    return std::make_unique<SweeperWith<B, T>>(device);
  });
}

template std::unique_ptr<Sweeper<float>> make_sweeper<ThisTarget>(const Device&);
template std::unique_ptr<Sweeper<double>> make_sweeper<ThisTarget>(const Device&);

}  // namespace echelon::gauss_seidel
