// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/subdomains/subdomains.hpp"

#include "domain_decomposition/bddc/subdomains/parallel.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace echelon::bddc {

std::string to_string(MatrixOrigin origin) {
  switch (origin) {
    case MatrixOrigin::given:
      return "given";
    case MatrixOrigin::exact:
      return "exact split";
    case MatrixOrigin::heuristic:
      return "heuristic split";
  }
  return {};
}

namespace {

std::string named(std::size_t subdomain) {
  return "subdomain " + std::to_string(subdomain);
}

void check_unknowns(const SubdomainMatrix& subdomain, const std::string& name) {
  const std::int64_t rows = std::ssize(subdomain.unknowns);
  if (subdomain.matrix.rows() != rows || subdomain.matrix.columns() != rows) {
    throw InvalidMatrix(name + " has " + std::to_string(rows) + " unknowns, and a matrix of " +
                        std::to_string(subdomain.matrix.rows()) + " by " +
                        std::to_string(subdomain.matrix.columns()));
  }
  if (!subdomain.matrix.device().on_host()) throw InvalidMatrix(name + ": its matrix is not on the host");
  for (std::int64_t i = 0; i < rows; ++i) {
    if (subdomain.unknowns[i] < 0 || (i > 0 && subdomain.unknowns[i] <= subdomain.unknowns[i - 1])) {
      throw InvalidMatrix(name + ": unknown " + std::to_string(subdomain.unknowns[i]) + " at place " +
                          std::to_string(i) + "; unknowns are counted from 0 and ascend");
    }
  }
}

/// Value of element (i, j), or 0.
double element(const Csr<double>& A, std::int64_t i, std::int64_t j) {
  const std::int32_t* const begin = A.column_indices().data() + A.row_offsets()[i];
  const std::int32_t* const end = A.column_indices().data() + A.row_offsets()[i + 1];
  const std::int32_t* const place = std::lower_bound(begin, end, static_cast<std::int32_t>(j));
  return place != end && *place == j ? A.values()[place - A.column_indices().data()] : 0;
}

double largest_element(const Csr<double>& A) {
  double largest = 0;
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) largest = std::max(largest, std::abs(A.values()[k]));
  return largest;
}

/// First element of a matrix that is not finite or differs from its mirror image.
struct BadElement {
  std::int64_t row = -1;  ///< -1: none
  std::int64_t column = -1;
};
BadElement find_bad_element(const Csr<double>& A) {
  const double tolerance = symmetry_rounding * largest_element(A);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = A.column_indices()[k];
      if (!std::isfinite(A.values()[k]) || !(std::abs(A.values()[k] - element(A, j, i)) <= tolerance)) {
        return {i, j};
      }
    }
  }
  return {};
}

[[noreturn]] void refuse_element(const Csr<double>& A, const BadElement& bad, const std::string& name) {
  const std::string place =
      name + ", row " + std::to_string(bad.row) + ", column " + std::to_string(bad.column);
  const double value = element(A, bad.row, bad.column);
  if (!std::isfinite(value)) throw InvalidMatrix(place + ": NaN or Inf");
  throw InvalidMatrix(place + ": the matrix is not symmetric, " + exact_number(value) + " against " +
                      exact_number(element(A, bad.column, bad.row)));
}

}  // namespace

void check_subdomain_matrices(const std::vector<SubdomainMatrix>& subdomains) {
  for (std::size_t s = 0; s < subdomains.size(); ++s) check_unknowns(subdomains[s], named(s));
  std::vector<BadElement> bad(subdomains.size());
  for_subdomains(Device().threads(), std::ssize(subdomains),
                 [&](std::int64_t s) { bad[s] = find_bad_element(subdomains[s].matrix); });
  for (std::size_t s = 0; s < subdomains.size(); ++s) {
    if (bad[s].row >= 0) refuse_element(subdomains[s].matrix, bad[s], named(s));
  }
}

namespace {

/// Rows of the subdomain matrices that are added to each row of A, by ascending subdomains.
class RowsOfSum {
 public:
  struct Row {
    std::int32_t subdomain;
    std::int32_t row;
  };

  RowsOfSum(const std::vector<SubdomainMatrix>& subdomains, std::int64_t unknowns)
      : begin_(static_cast<std::size_t>(unknowns) + 1, 0) {
    for (const SubdomainMatrix& subdomain : subdomains) {
      for (const std::int32_t unknown : subdomain.unknowns) ++begin_[unknown + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    rows_.resize(static_cast<std::size_t>(begin_.back()));
    std::vector<std::int64_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t s = 0; s < subdomains.size(); ++s) {
      for (std::int64_t i = 0; i < std::ssize(subdomains[s].unknowns); ++i) {
        rows_[next[subdomains[s].unknowns[i]]++] = {static_cast<std::int32_t>(s),
                                                    static_cast<std::int32_t>(i)};
      }
    }
  }

  [[nodiscard]] std::span<const Row> of(std::int64_t unknown) const {
    return std::span(rows_).subspan(static_cast<std::size_t>(begin_[unknown]),
                                    static_cast<std::size_t>(begin_[unknown + 1] - begin_[unknown]));
  }

 private:
  std::vector<std::int64_t> begin_;
  std::vector<Row> rows_;
};

/// Element of A that differs from the sum of the subdomain matrices.
struct WrongElement {
  std::int64_t row = -1;  ///< -1: none
  std::int64_t column = -1;
  double difference = 0;
};

/// The first wrong element of rows [begin, end).
WrongElement find_wrong_element(const std::vector<SubdomainMatrix>& subdomains, const RowsOfSum& rows,
                                const Csr<double>& A, double bound, std::int64_t begin, std::int64_t end) {
  std::vector<std::pair<std::int32_t, double>> terms;  // of a row: the sum, and A with the opposite sign
  for (std::int64_t i = begin; i < end; ++i) {
    terms.clear();
    for (const auto& [s, row] : rows.of(i)) {
      const auto& [unknowns, matrix] = subdomains[s];
      for (std::int64_t k = matrix.row_offsets()[row]; k < matrix.row_offsets()[row + 1]; ++k)
        terms.emplace_back(unknowns[matrix.column_indices()[k]], matrix.values()[k]);
    }
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      terms.emplace_back(A.column_indices()[k], -A.values()[k]);
    std::sort(terms.begin(), terms.end());
    for (std::size_t t = 0; t < terms.size();) {
      const std::int32_t column = terms[t].first;
      double difference = 0;
      for (; t < terms.size() && terms[t].first == column; ++t) difference += terms[t].second;
      if (!(std::abs(difference) <= bound)) return {i, column, difference};
    }
  }
  return {};
}

}  // namespace

void check_sum(const std::vector<SubdomainMatrix>& subdomains, const Csr<double>& A, double tolerance) {
  for (std::size_t s = 0; s < subdomains.size(); ++s) {
    const std::vector<std::int32_t>& unknowns = subdomains[s].unknowns;
    if (unknowns.empty() || unknowns.back() < A.rows()) continue;
    throw DimensionMismatch(named(s) + " has unknown " + std::to_string(unknowns.back()) + ", and A has " +
                            std::to_string(A.rows()) + " rows");
  }
  const RowsOfSum rows(subdomains, A.rows());
  const double bound = tolerance * largest_element(A);
  constexpr std::int64_t rows_of_part = 4096;
  std::vector<WrongElement> wrong(static_cast<std::size_t>((A.rows() + rows_of_part - 1) / rows_of_part));
  for_subdomains(Device().threads(), std::ssize(wrong), [&](std::int64_t part) {
    wrong[part] = find_wrong_element(subdomains, rows, A, bound, part * rows_of_part,
                                     std::min((part + 1) * rows_of_part, A.rows()));
  });
  const auto first =
      std::find_if(wrong.begin(), wrong.end(), [](const WrongElement& found) { return found.row >= 0; });
  if (first == wrong.end()) return;
  throw InvalidMatrix("the subdomain matrices do not sum up to A: row " + std::to_string(first->row) +
                      ", column " + std::to_string(first->column) + " is " +
                      exact_number(element(A, first->row, first->column)) + " in A and differs by " +
                      short_number(first->difference));
}

namespace {

/// Rows of a connected component, ascending, as a subdomain.
SubdomainMatrix component_of(const SubdomainMatrix& whole, const std::vector<std::int32_t>& component,
                             std::int32_t number) {
  SubdomainMatrix result;
  std::vector<std::int32_t> place(component.size(), 0);
  for (std::size_t i = 0; i < component.size(); ++i) {
    if (component[i] != number) continue;
    place[i] = static_cast<std::int32_t>(result.unknowns.size());
    result.unknowns.push_back(whole.unknowns[i]);
  }
  std::vector<Triplet<double>> triplets;
  for (std::int64_t i = 0; i < whole.matrix.rows(); ++i) {
    if (component[i] != number) continue;
    for (std::int64_t k = whole.matrix.row_offsets()[i]; k < whole.matrix.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = whole.matrix.column_indices()[k];
      if (component[j] == number) triplets.push_back({place[i], place[j], whole.matrix.values()[k]});
    }
  }
  const std::int64_t rows = std::ssize(result.unknowns);
  result.matrix = Csr<double>::from_triplets(rows, rows, triplets);
  return result;
}

}  // namespace

std::vector<SubdomainMatrix> split_disconnected(const std::vector<SubdomainMatrix>& subdomains) {
  std::vector<std::vector<SubdomainMatrix>> pieces(subdomains.size());
  for_subdomains(Device().threads(), std::ssize(subdomains), [&](std::int64_t s) {
    const Partition components = connected_components(subdomains[s].matrix);
    if (components.parts == 1) pieces[s].push_back(subdomains[s]);
    for (std::int32_t c = 0; c < components.parts && components.parts > 1; ++c)
      pieces[s].push_back(component_of(subdomains[s], components.part, c));
  });
  std::vector<SubdomainMatrix> connected;
  for (std::vector<SubdomainMatrix>& own : pieces)
    std::move(own.begin(), own.end(), std::back_inserter(connected));
  return connected;
}

namespace {

/// Whether a_ii >= sum |a_ij| in every row, to rounding.
bool is_dominant(const Csr<double>& A) {
  constexpr double rounding = 1e-12;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double diagonal = 0;
    double others = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) {
        diagonal = A.values()[k];
      } else {
        others += std::abs(A.values()[k]);
      }
    }
    if (diagonal < others * (1 - rounding)) return false;
  }
  return true;
}

/// Lists of the subdomains that have each node, ascending.
struct Membership {
  std::vector<std::int64_t> begin;
  std::vector<std::int32_t> subdomains;

  Membership(const sparse_direct::Pattern& graph, const Partition& partition) : begin(1, 0) {
    std::vector<std::int32_t> own;
    for (std::int64_t node = 0; node < graph.n; ++node) {
      own.assign(1, partition.part[node]);
      for (const std::int32_t neighbour : graph.row(node)) {
        if (partition.part[neighbour] < partition.part[node]) own.push_back(partition.part[neighbour]);
      }
      std::sort(own.begin(), own.end());
      own.erase(std::unique(own.begin(), own.end()), own.end());
      subdomains.insert(subdomains.end(), own.begin(), own.end());
      begin.push_back(static_cast<std::int64_t>(subdomains.size()));
    }
  }
  [[nodiscard]] std::span<const std::int32_t> of(std::int64_t node) const {
    return std::span(subdomains)
        .subspan(static_cast<std::size_t>(begin[node]),
                 static_cast<std::size_t>(begin[node + 1] - begin[node]));
  }
  /// Number of subdomains that have both nodes.
  [[nodiscard]] std::int64_t common(std::int64_t u, std::int64_t v) const {
    if (u == v) return begin[u + 1] - begin[u];
    std::int64_t count = 0;
    const auto second = of(v);
    for (const std::int32_t s : of(u)) count += std::binary_search(second.begin(), second.end(), s) ? 1 : 0;
    return count;
  }
};

/// Elements of the subdomain matrices, by the formulas of split().
class Splitter {
 public:
  Splitter(const Csr<double>& A, std::int64_t block_size, const Membership& membership, bool dominant)
      : A_(A),
        block_size_(block_size),
        membership_(membership),
        dominant_(dominant),
        place_(static_cast<std::size_t>(A.rows()), -1) {}

  SubdomainMatrix subdomain(const std::vector<std::int32_t>& nodes) {
    SubdomainMatrix result;
    for (const std::int32_t node : nodes) {
      const std::int64_t end = std::min((node + 1) * block_size_, A_.rows());
      for (std::int64_t i = node * block_size_; i < end; ++i) {
        place_[i] = static_cast<std::int32_t>(result.unknowns.size());
        result.unknowns.push_back(static_cast<std::int32_t>(i));
      }
    }
    triplets_.clear();
    for (const std::int32_t i : result.unknowns) add_row(i);
    const std::int64_t rows = std::ssize(result.unknowns);
    result.matrix = Csr<double>::from_triplets(rows, rows, triplets_);
    for (const std::int32_t i : result.unknowns) place_[i] = -1;
    return result;
  }

 private:
  /// Adds the elements of row i that belong to the subdomain, and their share of the diagonal block.
  void add_row(std::int32_t i) {
    const std::int64_t node = i / block_size_;
    const auto share = static_cast<double>(membership_.common(node, node));
    for (std::int64_t k = A_.row_offsets()[i]; k < A_.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A_.column_indices()[k];
      const double value = A_.values()[k];
      const std::int64_t neighbour = j / block_size_;
      const bool inside = place_[j] >= 0;
      const double weight = inside ? 1 / static_cast<double>(membership_.common(node, neighbour)) : 0;
      if (dominant_) {
        if (i == j) {
          triplets_.push_back({place_[i], place_[i], value / share});
          continue;
        }
        if (inside) triplets_.push_back({place_[i], place_[j], weight * value});
        triplets_.push_back({place_[i], place_[i], (weight - 1 / share) * std::abs(value)});
      } else if (neighbour == node) {
        triplets_.push_back({place_[i], place_[j], value / share});
      } else {
        if (inside) triplets_.push_back({place_[i], place_[j], weight * value});
        add_to_block(i, node * block_size_ + j % block_size_, (1 / share - weight) * value);
      }
    }
  }

  /// Adds half of a value to element (i, j), and half of it to (j, i), of the diagonal block.
  void add_to_block(std::int32_t i, std::int64_t j, double value) {
    if (j >= A_.rows()) j = i;
    triplets_.push_back({place_[i], place_[j], value / 2});
    triplets_.push_back({place_[j], place_[i], value / 2});
  }

  const Csr<double>& A_;
  std::int64_t block_size_;
  const Membership& membership_;
  bool dominant_;
  std::vector<std::int32_t> place_;  // of each unknown in the subdomain, or -1
  std::vector<Triplet<double>> triplets_;
};

}  // namespace

Subdomains split(const Csr<double>& A, std::int64_t block_size, const Partition& partition) {
  const auto graph = node_graph(A, block_size);
  const Membership membership(graph.view(), partition);
  std::vector<std::vector<std::int32_t>> nodes(static_cast<std::size_t>(partition.parts));
  for (std::int64_t node = 0; node < graph.view().n; ++node) {
    for (const std::int32_t s : membership.of(node)) nodes[s].push_back(static_cast<std::int32_t>(node));
  }
  const bool dominant = is_dominant(A);
  Splitter splitter(A, block_size, membership, dominant);
  Subdomains result;
  result.origin = dominant ? MatrixOrigin::exact : MatrixOrigin::heuristic;
  for (const auto& own : nodes) result.matrices.push_back(splitter.subdomain(own));
  return result;
}

}  // namespace echelon::bddc
