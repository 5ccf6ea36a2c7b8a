// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "matrix/compression/compress.hpp"
#include "matrix/compression/merge_duplicates.hpp"
#include "matrix/shape.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/builder.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <array>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace echelon {

/// Lists of entries, one per thread except for hash collisions, so that threads rarely wait for each other.
template <class T>
struct CsrBuilder<T>::Shares {
  struct alignas(64) Share {
    std::mutex mutex;
    std::vector<Triplet<T>> entries;
  };
  std::array<Share, 64> all;

  Share& of_this_thread() {
    return all[std::hash<std::thread::id>()(std::this_thread::get_id()) % all.size()];
  }
};

template <class T>
CsrBuilder<T>::CsrBuilder(std::int64_t rows, std::int64_t columns)
    : rows_(rows), columns_(columns), shares_(std::make_unique<Shares>()) {
  check_shape(rows, columns);
}

template <class T>
CsrBuilder<T>::CsrBuilder(CsrBuilder&&) noexcept = default;
template <class T>
CsrBuilder<T>& CsrBuilder<T>::operator=(CsrBuilder&&) noexcept = default;
template <class T>
CsrBuilder<T>::~CsrBuilder() = default;

template <class T>
std::int64_t CsrBuilder<T>::entries() const {
  std::size_t count = 0;
  for (auto& share : shares_->all) {
    const std::lock_guard lock(share.mutex);
    count += share.entries.size();
  }
  return static_cast<std::int64_t>(count);
}

template <class T>
void CsrBuilder<T>::add(std::int32_t row, std::int32_t column, T value) {
  const Triplet<T> entry{row, column, value};
  add(std::span<const Triplet<T>>(&entry, 1));
}

template <class T>
void CsrBuilder<T>::add(std::span<const Triplet<T>> entries) {
  for (const Triplet<T>& entry : entries) {
    if (entry.row < 0 || entry.row >= rows_ || entry.column < 0 || entry.column >= columns_) {
      throw InvalidMatrix(
          fmt::format("element ({}, {}) of a matrix of {} by {}", entry.row, entry.column, rows_, columns_));
    }
  }
  auto& share = shares_->of_this_thread();
  const std::lock_guard lock(share.mutex);
  share.entries.insert(share.entries.end(), entries.begin(), entries.end());
}

template <class T>
Csr<T> CsrBuilder<T>::build(const Device& device) const {
  std::vector<Triplet<T>> all;
  for (auto& share : shares_->all) {
    const std::lock_guard lock(share.mutex);
    all.insert(all.end(), share.entries.begin(), share.entries.end());
  }
  Host backend{device.on_host() ? device : Device()};
  Csr<T> result =
      merge_repeated(backend, columns_, compress(backend, UnorderedTriplets<T>(all), rows_, columns_));
  return device == result.device() ? std::move(result) : result.to(device);
}

#define ECHELON_INSTANTIATE(T) template class CsrBuilder<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
