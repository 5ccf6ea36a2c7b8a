// SPDX-License-Identifier: BSD-3-Clause
/// Gaussian elimination to mapped echelon form, in rounds.
#pragma once

#include "backend/store.hpp"
#include "sparse_direct/mapped_echelon/record.hpp"
#include "sparse_direct/mapped_echelon/reduction.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/methods/mapped_echelon.hpp>

#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>

namespace echelon::mapped {

namespace elimination_detail {

/// Elements of a row that differ from zero.
template <class Field, class T>
struct CountNonzeros {
  Field field;
  const std::int64_t* offsets;
  const T* values;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t row) const {
    std::int64_t count = 0;
    for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      count += field.element(values[k]).value != 0 ? 1 : 0;
    }
    counts[row] = count;
  }
};

/// Copies the elements of a row that differ from zero.
template <class Field, class T>
struct LoadRow {
  Field field;
  const std::int64_t* offsets;
  const std::int32_t* column_indices;
  const T* values;
  RowsView<typename Field::Element> rows;
  const std::int64_t* starts;
  double* norm;
  ECHELON_ANYWHERE void operator()(std::int64_t row) const {
    std::int64_t place = starts[row];
    double largest = 0;
    for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      const auto element = field.element(values[k]);
      if (element.value == 0) continue;
      largest = std::fmax(largest, field.size(element));
      rows.columns[place] = column_indices[k];
      rows.elements[place++] = element;
    }
    rows.start[row] = starts[row];
    rows.length[row] = static_cast<std::int32_t>(place - starts[row]);
    norm[row] = largest;
  }
};

struct Enumerate {
  std::int32_t* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = static_cast<std::int32_t>(i); }
};

/// Rows that wait for their leading unknown, in a list for each unknown.
template <class Field>
struct WaitingRows {
  MapView<Field> map;
  std::int32_t* first;  ///< by unknown
  std::int32_t* next;   ///< by row
};

template <class Field>
struct Wait {
  WaitingRows<Field> waiting;
  const std::int32_t* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t row = rows[i];
    waiting.next[row] = atomic_exchange(waiting.first + waiting.map.rows.lead(row), row);
  }
};

/// The rows that wait for an unknown. Their order does not matter.
template <class Field>
struct TakeWaiting {
  WaitingRows<Field> waiting;
  std::int64_t unknown;
  std::int32_t* rows;
  std::int64_t* count;
  ECHELON_ANYWHERE void operator()(std::int64_t /*i*/) const {
    std::int64_t taken = 0;
    for (std::int32_t row = waiting.first[unknown]; row != nobody; row = waiting.next[row])
      rows[taken++] = row;
    *count = taken;
  }
};

struct CountOwned {
  const std::int32_t* owner;
  ECHELON_ANYWHERE Sum operator()(std::int64_t unknown) const {
    return {owner[unknown] == nobody ? 0.0 : 1.0};
  }
};

}  // namespace elimination_detail

/// Reduces the rows of A until each one owns the unknown of its leading element, or is zero.
///
/// The map says for each unknown which row owns it. In a round, every active row claims the unknown of its
/// leading element. Those that lose, and the owners that are replaced, are reduced by the owner and are the
/// active rows of the next round. If owners can be replaced, the best claimant wins (see Field::priority,
/// ties by the smaller row number): the result does not depend on the order of claims, and multipliers are
/// bounded by the ratio of the rows' norms. Otherwise the first claim wins, and on several threads the result
/// depends on their order.
///
/// With ClaimRule::ordered, the rows that lead the first unknown of all claim it, and the others wait: this
/// is partial pivoting, in as many rounds as there are unknowns.
///
/// A row is reduced at most once in a round, and its leading element moves to the right every time, so that
/// at most m n reductions are made.
template <class B, class Field>
class Elimination {
 public:
  using Element = typename Field::Element;
  using Value = typename Field::Value;

  /// `free`: by unknown, not zero if no row may own it; empty: none.
  Elimination(B& backend, const Field& field, ClaimRule claim, std::int64_t rows, std::int64_t columns,
              std::span<const std::uint8_t> free = {})
      : backend_(backend),
        field_(field),
        claim_(claim),
        columns_(columns),
        rows_(backend, rows),
        record_(backend),
        norm_(backend.device(), rows),
        priority_(backend.device(), rows),
        rejected_(backend.device(), rows),
        owner_(backend.device(), columns),
        free_(backend.device(), free),
        active_(backend.device(), rows),
        losers_(backend.device(), rows),
        before_(backend.device(), rows),
        flags_(backend.device(), rows),
        sizes_(backend.device(), rows + 1) {}

  /// Brings A, with finite elements, to mapped echelon form. False if `cancel` was requested. Throws
  /// OutOfMemory when the rows fill the memory.
  template <class T>
  bool run(const Csr<T>& A, const std::stop_token& cancel) {
    load(A);
    backend_.fill(columns_, nobody, owner_.data());
    const std::int64_t active = find_active(rows_.count(), nullptr, columns_);
    return claim_ == ClaimRule::ordered ? run_ordered(active, cancel) : run_rounds(active, cancel);
  }

  [[nodiscard]] B& backend() const { return backend_; }
  [[nodiscard]] const Field& field() const { return field_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t rounds() const { return rounds_; }
  [[nodiscard]] Record<B, Value>& record() { return record_; }
  [[nodiscard]] const Array<std::int32_t>& owner() const { return owner_; }
  [[nodiscard]] const Array<std::int32_t>& length() const { return rows_.length(); }
  /// Waits.
  [[nodiscard]] std::int64_t rank() {
    Array<Sum> sum(backend_.device(), 1);
    backend_.reduce(columns_, elimination_detail::CountOwned{owner_.data()}, Store<Sum>{sum.data()});
    return static_cast<std::int64_t>(backend_.read(sum.data()).value);
  }
  [[nodiscard]] const Array<double>& rejected() const { return rejected_; }
  [[nodiscard]] MapView<Field> map() {
    return {rows_.view(),
            norm_.data(),
            priority_.data(),
            rejected_.data(),
            owner_.data(),
            free_.size() > 0 ? free_.data() : nullptr,
            field_};
  }

 private:
  template <class T>
  void load(const Csr<T>& A) {
    using namespace elimination_detail;
    const std::int64_t* offsets = A.row_offsets().data();
    const std::int64_t m = rows_.count();
    backend_.for_each(m, CountNonzeros<Field, T>{field_, offsets, A.values().data(), sizes_.data()});
    const std::int64_t total = backend_.exclusive_scan(m, sizes_.data(), sizes_.data());
    backend_.fill(m, std::int32_t{0}, rows_.view().length);
    rows_.reserve(total);
    rows_.append(total);
    backend_.for_each(m, LoadRow<Field, T>{field_, offsets, A.column_indices().data(), A.values().data(),
                                           rows_.view(), sizes_.data(), norm_.data()});
    backend_.fill(m, 0.0, rejected_.data());
  }

  bool run_rounds(std::int64_t active, const std::stop_token& cancel) {
    while (active > 0) {
      if (cancel.stop_requested()) return false;
      active = round(active, columns_);
    }
    return true;
  }

  /// One round for each unknown that rows wait for.
  bool run_ordered(std::int64_t active, const std::stop_token& cancel) {
    using namespace elimination_detail;
    Array<std::int32_t> first(backend_.device(), columns_);
    Array<std::int32_t> next(backend_.device(), rows_.count());
    backend_.fill(columns_, nobody, first.data());
    const auto waiting = [&] { return WaitingRows<Field>{map(), first.data(), next.data()}; };
    backend_.for_each(active, Wait<Field>{waiting(), active_.data()});
    for (std::int64_t unknown = 0; unknown < columns_; ++unknown) {
      if (cancel.stop_requested()) return false;
      backend_.for_each(1, TakeWaiting<Field>{waiting(), unknown, active_.data(), sizes_.data()});
      const std::int64_t rows = backend_.read(sizes_.data());
      if (rows == 0) continue;
      active = round(rows, columns_);
      backend_.for_each(active, Wait<Field>{waiting(), active_.data()});
    }
    return true;
  }

  /// The rows among `selected` (null: all) that lead an unknown before `limit`, in active_. Returns their
  /// number.
  std::int64_t find_active(std::int64_t count, const std::int32_t* selected, std::int64_t limit) {
    backend_.for_each(count, FindLead<Field>{map(), selected, limit, flags_.data()});
    if (selected == nullptr) {
      backend_.for_each(count, elimination_detail::Enumerate{losers_.data()});
      selected = losers_.data();
    }
    return backend_.select(count, flags_.data(), selected, active_.data());
  }

  /// Claims of the active rows, and the reduction of those that lose. Returns the number of rows that are
  /// active afterwards.
  std::int64_t round(std::int64_t active, std::int64_t limit) {
    ++rounds_;
    backend_.for_each(active, NoteOwner<Field>{map(), active_.data(), before_.data()});
    backend_.for_each(active, mapped::Claim<Field>{map(), active_.data(), claim_ != ClaimRule::first});
    backend_.for_each(active,
                      FindLoser<Field>{map(), active_.data(), before_.data(), before_.data(), flags_.data()});
    const std::int64_t losers = backend_.select(active, flags_.data(), before_.data(), losers_.data());
    backend_.for_each(losers, BoundLength<Field>{map(), losers_.data(), columns_, sizes_.data()});
    const std::int64_t elements = backend_.exclusive_scan(losers, sizes_.data(), sizes_.data());
    rows_.reserve(elements);
    const std::int64_t first = rows_.append(elements);
    const RecordView<std::int32_t, Value> record = record_.append(losers);
    for_each_row(backend_, losers, elements,
                 Reduce<Field>{map(), losers_.data(), sizes_.data(), first, record});
    return find_active(losers, losers_.data(), limit);
  }

  B& backend_;
  Field field_;
  ClaimRule claim_;
  std::int64_t columns_;
  std::int64_t rounds_ = 0;
  Rows<B, Element> rows_;
  Record<B, Value> record_;
  Array<double> norm_;
  Array<std::uint64_t> priority_;
  Array<double> rejected_;
  Array<std::int32_t> owner_;
  Array<std::uint8_t> free_;
  Array<std::int32_t> active_, losers_, before_;
  Array<std::uint8_t> flags_;
  Array<std::int64_t> sizes_;
};

}  // namespace echelon::mapped
