// SPDX-License-Identifier: BSD-3-Clause
/// The table of generators: names, options, sizes, and the promise of the same bits everywhere.
#include <echelon/error.hpp>
#include <echelon/generate.hpp>

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <type_traits>

namespace echelon::test {
namespace {

/// FNV-1a over the shape, the pattern and the values' bits.
class Checksum {
 public:
  template <class N>
  void add(const N& number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof number);
    for (int byte = 0; byte < 8; ++byte) {
      value_ = (value_ ^ ((bits >> (8 * byte)) & 0xff)) * 0x100000001b3;
    }
  }
  template <class T>
  void add_all(const T* begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add(begin[i]);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

template <class T>
void add(Checksum& sum, const Csr<T>& a) {
  sum.add_all(a.row_offsets().data(), a.row_offsets().size());
  sum.add_all(a.column_indices().data(), a.nonzeros());
  sum.add_all(a.values().data(), a.nonzeros());
}
template <class T>
void add(Checksum& sum, const Dense<T>& a) {
  sum.add_all(a.data(), a.rows() * a.columns());
}

template <class T>
std::uint64_t checksum(const Matrix<T>& matrix) {
  Checksum sum;
  const MatrixRef<T> A(matrix);
  sum.add(A.rows());
  sum.add(A.columns());
  std::visit([&](const auto& held) { add(sum, held); }, matrix);
  return sum.value();
}

/// About so many rows, where the size can be set by them, and a multiple of 4 where it must be.
Options sized(const Generator& generator, std::int64_t rows) {
  if (generator.size.empty()) return {};
  if (generator.name == "hadamard") return {{"n", 64}};
  if (generator.name == "gauss-seidel-seed") return {{"rows", std::max<std::int64_t>(rows, 1000)}};
  Options options = generator.for_rows(rows);
  if (generator.name == "inconsistent" || generator.name == "known-rank") options.set("rank", 3);
  return options;
}

/// Large enough for the work to be shared between threads.
Options large(const Generator& generator) {
  return sized(generator, generator.sparse ? 12000 : 200);
}

Options random_sparse_is_not_too_dense(const Generator& generator, Options options) {
  for (const OptionInfo& option : generator.options) {
    if (option.name == "density") options.set("density", 1e-3);
  }
  if (generator.name == "complete") options.set("n", 200);
  return options;
}

template <class T>
void expect_sound(const Csr<T>& a) {
  EXPECT_NO_THROW(Csr<T>(a.rows(), a.columns(), a.row_offsets(), a.column_indices(), a.values()));
  for (std::int64_t k = 0; k < a.nonzeros(); ++k) ASSERT_TRUE(std::isfinite(a.values()[k]));
}
template <class T>
void expect_sound(const Dense<T>& a) {
  for (std::int64_t k = 0; k < a.rows() * a.columns(); ++k) ASSERT_TRUE(std::isfinite(a[k]));
}

void expect_rounded(const Csr<float>& a, const Csr<double>& b) {
  ASSERT_EQ(a.row_offsets().to_vector(), b.row_offsets().to_vector());
  ASSERT_EQ(a.column_indices().to_vector(), b.column_indices().to_vector());
  for (std::int64_t k = 0; k < b.nonzeros(); ++k) ASSERT_EQ(a.values()[k], static_cast<float>(b.values()[k]));
}
void expect_rounded(const Dense<float>& a, const Dense<double>& b) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.columns(), b.columns());
  for (std::int64_t k = 0; k < b.rows() * b.columns(); ++k) ASSERT_EQ(a[k], static_cast<float>(b[k]));
}

TEST(Generate, NamesAreUniqueAndReadable) {
  std::set<std::string> names;
  for (const Generator& generator : generators()) {
    EXPECT_TRUE(names.insert(generator.name).second) << generator.name;
    EXPECT_EQ(generator.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
    EXPECT_FALSE(generator.summary.empty());
    EXPECT_EQ(&find_generator(generator.name), &generator);
    std::set<std::string> options;
    for (const OptionInfo& option : generator.options) {
      EXPECT_TRUE(options.insert(option.name).second) << generator.name << ' ' << option.name;
      EXPECT_FALSE(option.help.empty()) << generator.name << ' ' << option.name;
    }
    for (const std::string& option : generator.size) EXPECT_EQ(options.count(option), 1U) << generator.name;
  }
}

TEST(Generate, EveryMatrixIsSoundAndFloatIsRoundedDouble) {
  for (const Generator& generator : generators()) {
    SCOPED_TRACE(generator.name);
    // Powers and binomials of order 20 still fit a float.
    const Options options = sized(generator, generator.sparse ? 200 : 20);
    const Matrix<double> a = make_matrix<double>(generator.name, options);
    EXPECT_EQ(std::holds_alternative<Csr<double>>(a), generator.sparse);
    std::visit([](const auto& held) { expect_sound(held); }, a);
    if (generator.name == "lapack-check") continue;
    const Matrix<float> b = make_matrix<float>(generator.name, options);
    if (generator.sparse) {
      expect_rounded(std::get<Csr<float>>(b), std::get<Csr<double>>(a));
    } else {
      expect_rounded(std::get<Dense<float>>(b), std::get<Dense<double>>(a));
    }
  }
}

TEST(Generate, ThreadsDoNotMatter) {
  const int usual = omp_get_max_threads();
  for (const Generator& generator : generators()) {
    SCOPED_TRACE(generator.name);
    const Options options = random_sparse_is_not_too_dense(generator, large(generator));
    std::set<std::uint64_t> sums;
    for (const int threads : {1, 2, 5}) {
      omp_set_num_threads(threads);
      sums.insert(checksum(make_matrix<double>(generator.name, options)));
    }
    EXPECT_EQ(sums.size(), 1U);
  }
  omp_set_num_threads(usual);
}

TEST(Generate, SeedsMatterAndRepeat) {
  for (const Generator& generator : generators()) {
    if (!generator.is_random()) continue;
    SCOPED_TRACE(generator.name);
    Options options = sized(generator, generator.sparse ? 400 : 20);
    if (generator.family == "graphs") options.set("weights", "uniform");
    if (generator.name == "tridiagonal") options.set("kind", "random");
    if (generator.name.starts_with("jumps")) options.set("pattern", "random");
    const auto made = [&](std::int64_t seed) {
      Options with_seed = options;
      with_seed.set("seed", seed);
      return checksum(make_matrix<double>(generator.name, with_seed));
    };
    EXPECT_EQ(made(7), made(7));
    EXPECT_NE(made(7), made(8));
    EXPECT_NE(made(7), made(7 + (std::int64_t{1} << 40)));
  }
}

TEST(Generate, AwkwardSizes) {
  for (const Generator& generator : generators()) {
    SCOPED_TRACE(generator.name);
    for (const std::int64_t side : {0, 1, 2, 3}) {
      Options options;
      for (const std::string& name : generator.size) options.set(name, side);
      if (generator.size.empty()) continue;
      try {
        const Matrix<double> matrix = make_matrix<double>(generator.name, options);
        std::visit([](const auto& held) { expect_sound(held); }, matrix);
      } catch (const BadOption&) {  // the family does not have that size
        EXPECT_TRUE(std::set<std::string>({"gauss-seidel-seed", "random-regular", "sachdeva-star", "wright",
                                           "hadamard", "magic", "known-rank", "inconsistent"})
                        .contains(generator.name))
            << side;
      }
    }
  }
}

TEST(Generate, RowsAskedFor) {
  const auto rows = [](const std::string& name, std::int64_t wanted) {
    return MatrixRef<double>(make_matrix<double>(name, find_generator(name).for_rows(wanted))).rows();
  };
  EXPECT_EQ(rows("hilbert", 37), 37);
  EXPECT_EQ(rows("poisson-2d", 100), 100);
  EXPECT_EQ(rows("poisson-2d", 120), 100);
  EXPECT_EQ(rows("poisson-3d", 1000), 1000);
  EXPECT_EQ(rows("poisson-3d", 999), 729);
  EXPECT_EQ(rows("elasticity-2d", 2 * 10 * 10), 2 * 10 * 11);
  EXPECT_EQ(rows("druinsky-toledo", 60), 60);
  EXPECT_EQ(rows("gauss-seidel-seed", 1234), 1234);
  EXPECT_THROW(static_cast<void>(rows("rmat", 100)), BadOption);
}

TEST(Generate, WrongNamesSuggestTheNearest) {
  const auto suggestion = [](const std::string& name, const Options& options) {
    try {
      static_cast<void>(make_matrix<double>(name, options));
    } catch (const BadOption& e) {
      return e.did_you_mean();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(suggestion("poison-2d", {}), "poisson-2d");
  EXPECT_EQ(suggestion("hilbret", {}), "hilbert");
  EXPECT_EQ(suggestion("poisson-2d", {{"nz", 3}}), "nx");
  EXPECT_EQ(suggestion("chimera", {{"wieghts", "unit"}}), "weights");
  EXPECT_EQ(suggestion("chimera", {{"weights", "uniformly"}}), "uniform");
}

TEST(Generate, WrongValues) {
  const auto refused = [](const std::string& name, const Options& options) {
    EXPECT_THROW(static_cast<void>(make_matrix<double>(name, options)), BadOption) << name;
  };
  refused("poisson-2d", {{"nx", -1}});
  refused("poisson-2d", {{"nx", "many"}});
  refused("poisson-2d", {{"nx", 2147483648}});
  refused("poisson-2d", {{"points", 7}});
  refused("random-sparse", {{"density", 1.5}});
  refused("random-spd", {{"dominance", 1}});
  refused("gauss-seidel-seed", {{"rows", 999}});
  refused("random-regular", {{"n", 5}, {"k", 3}});
  refused("random-regular", {{"n", 4}, {"k", 4}});
  refused("rmat", {{"a", 0.9}, {"b", 0.2}});
  refused("rmat", {{"scale", 31}});
  refused("magic", {{"n", 6}});
  refused("hadamard", {{"n", 12}});
  refused("extended-kahan", {{"l", 3}});
  refused("known-rank", {{"rank", 101}});
  refused("random-integer", {{"low", 3}, {"high", 2}});
  EXPECT_THROW(static_cast<void>(generate::poisson_2d<double>(3, 3, 7)), BadOption);
  EXPECT_THROW(static_cast<void>(generate::random_sparse<double>(3, 3, -0.1)), BadOption);
}

TEST(Generate, MoreRowsThanAnIndexCounts) {
  EXPECT_THROW(static_cast<void>(generate::poisson_2d<double>(65536, 65536)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(generate::poisson_3d<float>(2000, 2000, 2000)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(generate::poisson_2d<double>(-1, 5)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(generate::tridiagonal<double>(std::int64_t{1} << 31, 1, 2, 1)),
               InvalidMatrix);
  EXPECT_THROW(
      static_cast<void>(make_matrix<double>("sachdeva-star", {{"clique", 65536}, {"copies", 65536}})),
      InvalidMatrix);
  EXPECT_THROW(static_cast<void>(make_matrix<double>("elasticity-2d", {{"nx", 32768}, {"ny", 32768}})),
               InvalidMatrix);
  EXPECT_EQ(generate::poisson_3d<double>(0, 2000000000, 2000000000).rows(), 0);
}

}  // namespace
}  // namespace echelon::test
