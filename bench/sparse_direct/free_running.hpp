// SPDX-License-Identifier: BSD-3-Clause
/// Elimination to mapped echelon form without rounds: the loop of each row runs on until the row owns an
/// unknown, compared with the rounds of the library. It is for measurements: which row becomes an owner, and
/// with that the number of reductions and the rounding errors, depends on timing.
#pragma once

#include "backend/atomic.hpp"
#include "backend/store.hpp"
#include "backend/target.hpp"
#include "exact/elimination.hpp"
#include "exact/lanes.hpp"
#include "mapped_echelon/system.hpp"
#include "support/document_matrices.hpp"
#include "support/measure.hpp"
#include "support/stopwatch.hpp"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace echelon::bench {

using mapped::no_row;
using mapped::PrimeField;
using mapped::RealField;

/// Orders what a thread wrote before a claim, and what it reads from an owner after one.
ECHELON_ANYWHERE inline void fence() {
#ifdef __CUDA_ARCH__
  __threadfence();
#else
  std::atomic_thread_fence(std::memory_order_acq_rel);
#endif
}

/// Rows with a window of `width` elements each, from the leading one on: the element of unknown c is at
/// c modulo `width`.
template <class Field>
struct WindowsView {
  Field field;
  std::int64_t unknowns;
  std::int32_t width;
  typename Field::Element* elements;
  typename Field::Element* rhs;
  std::int32_t* lead;
  std::int32_t* owner;  ///< by unknown
  std::int32_t* reductions;
};

/// Lets a row claim its leading unknown, and reduces it by the owner until a claim succeeds or the row is
/// zero. An owner keeps its unknown and is not changed any more, so that no row waits for another.
template <class Field>
struct RunFreely {
  WindowsView<Field> rows;

  template <class Lanes>
  ECHELON_ANYWHERE void operator()(std::int64_t i, Lanes lanes) const {
    const auto row = static_cast<std::int32_t>(i);
    auto* const own = rows.elements + i * rows.width;
    std::int32_t lead = rows.lead[row];
    std::int32_t reductions = 0;
    for (; lead < rows.unknowns; ++lead) {
      const std::int32_t place = lead % rows.width;
      const auto element = own[place];
      if (!rows.field.is_zero(element)) {
        fence();
        lanes.sync();
        if (lanes.lane() == 0) compare_exchange(rows.owner + lead, no_row, row);
        lanes.sync();
        const std::int32_t owner = atomic_load(rows.owner + lead);
        if (owner == row) break;
        fence();
        reduce(row, owner, place, lanes);
        reductions += 1;
      }
      lanes.sync();
      if (lanes.lane() == 0) own[place] = {};  // it becomes the place of unknown lead + width
      lanes.sync();
    }
    if (lanes.lane() != 0) return;
    rows.lead[row] = lead;
    rows.reductions[row] = reductions;
  }

 private:
  template <class Lanes>
  ECHELON_ANYWHERE void reduce(std::int32_t row, std::int32_t owner, std::int32_t place, Lanes lanes) const {
    auto* const own = rows.elements + std::int64_t{row} * rows.width;
    const auto* const other = rows.elements + std::int64_t{owner} * rows.width;
    const auto m = rows.field.quotient(own[place].value, other[place].value);
    for (std::int32_t j = 1 + lanes.lane(); j < rows.width; j += Lanes::lanes) {
      const std::int32_t k = place + j < rows.width ? place + j : place + j - rows.width;
      own[k] = rows.field.reduced(own[k], m, other[k].value);
    }
    if (lanes.lane() == 0) rows.rhs[row] = rows.field.reduced(rows.rhs[row], m, rows.rhs[owner].value);
  }
};

/// The rows of a square A, whose columns are sorted, and the right-hand side A (1, ..., 1).
template <class B, class Field>
class FreeRunning {
 public:
  using Element = typename Field::Element;

  FreeRunning(B& backend, const Field& field, const Csr<double>& A)
      : backend_(backend),
        field_(field),
        unknowns_(A.columns()),
        width_(width_of(A)),
        rhs_(static_cast<std::size_t>(A.rows())),
        lead_(static_cast<std::size_t>(A.rows())),
        elements_(static_cast<std::size_t>(A.rows() * width_)) {
    const auto minus_one = field.element(-1.0).value;
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      const auto row = static_cast<std::size_t>(i);
      lead_[row] = A.column_indices()[A.row_offsets()[i]];
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        const Element element = field.element(A.values()[k]);
        elements_[static_cast<std::size_t>(i * width_ + A.column_indices()[k] % width_)] = element;
        rhs_[row] = field.reduced(rhs_[row], minus_one, element.value);
      }
    }
    given_ = place(elements_, rhs_, lead_);
    work_ = place(elements_, rhs_, lead_);
    owner_ = Array<std::int32_t>(backend.device(), unknowns_);
    reductions_ = Array<std::int32_t>(backend.device(), A.rows());
  }

  /// Eliminates the rows as they were given.
  void run() {
    const std::int64_t m = work_.lead.size();
    backend_.copy(work_.elements.size(), given_.elements.data(), work_.elements.data());
    backend_.copy(m, given_.rhs.data(), work_.rhs.data());
    backend_.copy(m, given_.lead.data(), work_.lead.data());
    backend_.fill(unknowns_, no_row, owner_.data());
    mapped::for_each_row(
        backend_, m, work_.elements.size(),
        RunFreely<Field>{{field_, unknowns_, static_cast<std::int32_t>(width_), work_.elements.data(),
                          work_.rhs.data(), work_.lead.data(), owner_.data(), reductions_.data()}});
    backend_.synchronize();
  }

  [[nodiscard]] std::int64_t reductions() const {
    std::int64_t total = 0;
    for (const std::int32_t count : reductions_.to_vector()) total += count;
    return total;
  }

  /// Largest difference of an unknown from 1, by back substitution through the map; infinite if an unknown
  /// has no owner.
  [[nodiscard]] double error() const {
    const std::vector<Element> elements = work_.elements.to_vector();
    const std::vector<Element> rhs = work_.rhs.to_vector();
    const std::vector<std::int32_t> owner = owner_.to_vector();
    std::vector<typename Field::Value> x(static_cast<std::size_t>(unknowns_));
    double largest = 0;
    for (std::int64_t c = unknowns_; c-- > 0;) {
      const std::int64_t row = owner[static_cast<std::size_t>(c)];
      if (row == no_row) return HUGE_VAL;
      const auto at = [&](std::int64_t column) {
        return elements[static_cast<std::size_t>(row * width_ + column % width_)].value;
      };
      Element sum = rhs[static_cast<std::size_t>(row)];
      for (std::int64_t j = c + 1; j < std::min(c + width_, unknowns_); ++j)
        sum = field_.reduced(sum, at(j), x[static_cast<std::size_t>(j)]);
      auto& unknown = x[static_cast<std::size_t>(c)];
      unknown = field_.quotient(sum.value, at(c));
      const double difference = std::abs(static_cast<double>(field_.number(unknown)) - 1);
      largest = std::max(largest, std::isfinite(difference) ? difference : HUGE_VAL);
    }
    return largest;
  }

 private:
  struct Rows {
    Array<Element> elements;
    Array<Element> rhs;
    Array<std::int32_t> lead;
  };
  Rows place(const std::vector<Element>& elements, const std::vector<Element>& rhs,
             const std::vector<std::int32_t>& lead) const {
    return {Array<Element>(backend_.device(), std::span<const Element>(elements)),
            Array<Element>(backend_.device(), std::span<const Element>(rhs)),
            Array<std::int32_t>(backend_.device(), std::span<const std::int32_t>(lead))};
  }

  /// The number of unknowns that a row can reach from its leading one on: a row that leads c has met rows
  /// that led c or earlier unknowns only.
  static std::int64_t width_of(const Csr<double>& A) {
    std::vector<std::int64_t> end(static_cast<std::size_t>(A.columns()));
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      auto& of_lead = end[static_cast<std::size_t>(A.column_indices()[A.row_offsets()[i]])];
      of_lead = std::max<std::int64_t>(of_lead, A.column_indices()[A.row_offsets()[i + 1] - 1] + 1);
    }
    std::int64_t width = 1;
    std::int64_t reach = 0;
    for (std::int64_t c = 0; c < A.columns(); ++c) {
      reach = std::max(reach, end[static_cast<std::size_t>(c)]);
      width = std::max(width, reach - c);
    }
    return width;
  }

  B& backend_;
  Field field_;
  std::int64_t unknowns_;
  std::int64_t width_;
  std::vector<Element> rhs_;
  std::vector<std::int32_t> lead_;
  std::vector<Element> elements_;
  Rows given_, work_;
  Array<std::int32_t> owner_, reductions_;
};

/// A row of the table: rounds, slices and the free-running form in one field.
template <class B, class Field>
void measure_free_running(B& backend, const Field& field, const std::string& name,
                          const std::string& precision, const Csr<double>& A, int runs) {
  using Elimination = mapped::MappedElimination<B, Field>;
  const Csr<double> placed = A.to(backend.device());
  std::int64_t rounds = 0;
  std::int64_t reductions = 0;
  const auto in_rounds = [&](UnknownOrder order) {
    return median_seconds(runs, [&] {
      Elimination elimination(backend, field, ClaimRule::largest, order, A.rows(), A.columns());
      elimination.run(placed, {});
      backend.synchronize();
      rounds = elimination.rounds();
      reductions = elimination.record().size();
    });
  };
  const double in_slices = in_rounds(UnknownOrder::slices);
  const double natural = in_rounds(UnknownOrder::natural);
  FreeRunning<B, Field> rows(backend, field, A);
  const double freely = median_seconds(runs, [&] { rows.run(); });
  std::printf("| %s | %s | %lld | %lld | %.2f | %.2f | %lld | %.2f | %.1g |\n", name.c_str(),
              precision.c_str(), static_cast<long long>(rounds), static_cast<long long>(reductions),
              1e3 * natural, 1e3 * in_slices, static_cast<long long>(rows.reductions()), 1e3 * freely,
              rows.error());
  std::fflush(stdout);
}

template <class B>
void print_free_running(B& backend, std::int64_t largest, int runs) {
  std::puts(
      "| matrix | field | rounds | reductions in rounds | in rounds ms | in slices ms | reductions running "
      "freely | running freely ms | largest error |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- "
      "|");
  for (const auto& [name, A] : document_matrices(largest)) {
    measure_free_running(backend, PrimeField{2147483647}, name, "modulo 2147483647", A, runs);
    measure_free_running(backend, RealField<double>{mapped::default_tolerance<double>}, name, "real", A,
                         runs);
  }
}

/// Milliseconds of the first reordering for slices, of rows and unknowns, on the device of the backend.
template <class B>
double reordering_ms(B& backend, const Csr<double>& A, int runs) {
  using Field = PrimeField;
  const Field field{2147483647};
  const std::int64_t n = A.rows();
  std::vector<double> seconds;
  for (int run = 0; run <= runs; ++run) {
    mapped::RowPool<B, Field::Element> rows(backend, n);
    Array<std::int64_t> starts(backend.device(), n + 1);
    Array<std::int32_t> pending(backend.device(), n);
    Array<double> norm(backend.device(), n);
    backend.copy(n + 1, A.row_offsets().data(), starts.data());
    backend.fill(n, std::int32_t{0}, rows.view().length);
    rows.reserve(A.nonzeros());
    rows.append(A.nonzeros());
    backend.for_each(n, mapped::elimination_detail::LoadFieldRow<Field, double>{
                            field, A.row_offsets().data(), A.column_indices().data(), A.values().data(),
                            rows.view(), starts.data(), norm.data()});
    backend.for_each(n, Iota{pending.data()});
    mapped::SliceLevel level{n, n, 0, Array<std::int32_t>(backend.device(), n)};
    backend.for_each(n, Iota{level.name.data()});
    mapped::Slices<B, Field::Element> slices(backend, rows, n);
    backend.synchronize();
    const Stopwatch stopwatch;
    level = slices.next(std::move(level), n, pending.data());
    backend.synchronize();
    if (run > 0) seconds.push_back(stopwatch.seconds());  // the first one warms up
  }
  return 1e3 * median(std::move(seconds));
}

/// The reordering on the device, and copies of the matrix to the host and back, which one on the host needs.
template <class B>
void print_reordering(B& backend, int runs) {
  std::puts(
      "\n| matrix | reordering ms | copy to the host ms | copy from the host ms |\n"
      "| --- | --- | --- | --- |");
  for (const auto& [rows, half_width] : {std::pair{1'000'000, 2}, std::pair{100'000, 8}}) {
    const Csr<double> A = band(rows, half_width);
    const Csr<double> placed = A.to(backend.device());
    const double to_host = median_seconds(runs, [&] { static_cast<void>(placed.to(Device())); });
    const double from_host = median_seconds(runs, [&] {
      static_cast<void>(A.to(backend.device()));
      backend.synchronize();
    });
    std::printf("| band, %d rows, width %d | %.3f | %.3f | %.3f |\n", rows, 2 * half_width + 1,
                reordering_ms(backend, placed, runs), 1e3 * to_host, 1e3 * from_host);
  }
}

}  // namespace echelon::bench
