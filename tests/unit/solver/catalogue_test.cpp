// SPDX-License-Identifier: BSD-3-Clause
/// Structure and structural rank of real matrices, against the values measured for their catalogue.
#include "support/test_data.hpp"

#include <echelon/io/matrix_market.hpp>
#include <echelon/matrix/structure.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using Row = std::map<std::string, std::string>;

/// Cells may be in double quotes and then hold commas; two quotes stand for one.
std::vector<std::string> split_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

/// The real matrices in Matrix Market form.
std::vector<Row> catalogue() {
  std::vector<Row> rows;
  std::ifstream file(real_matrices() / "catalogue.csv");
  std::string line;
  if (!std::getline(file, line)) return rows;
  const std::vector<std::string> names = split_cells(line);
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split_cells(line);
    Row row;
    for (std::size_t c = 0; c < names.size() && c < cells.size(); ++c) row[names[c]] = cells[c];
    const bool is_real = row["header"].find("complex") == std::string::npos;
    if (is_real && row["file"].find(".mtx.gz") != std::string::npos) rows.push_back(row);
  }
  return rows;
}

/// Compares with the catalogue; a number that it lacks is not compared.
void expect_number(const Row& row, const std::string& name, std::int64_t got) {
  const std::string& said = row.at(name);
  EXPECT_TRUE(said.empty() || got == std::stod(said)) << name << " is " << got << ", catalogued as " << said;
}

void expect_facts(const Row& row, const Structure& s) {
  expect_number(row, "rows", s.rows);
  expect_number(row, "cols", s.columns);
  expect_number(row, "nnz", s.nonzeros);
  expect_number(row, "explicit_zeros", s.explicit_zeros);
  expect_number(row, "zero_diag", s.zero_diagonals);
  EXPECT_EQ(s.symmetric_values, row.at("sym") == "sym") << row.at("sym");
  const std::string& definite = row.at("definite");
  const bool is_indefinite = definite.find("indefinite") == 0 || definite == "quasi-definite";
  EXPECT_TRUE(s.definiteness != Definiteness::positive_definite || definite == "SPD") << definite;
  EXPECT_TRUE(s.definiteness != Definiteness::indefinite || definite != "SPD") << definite;
  EXPECT_TRUE(s.definiteness != Definiteness::positive_semidefinite || !is_indefinite) << definite;
}

/// The catalogue counts explicit zeros as elements where it speaks of the pattern, Structure does not; here
/// they become ones.
void expect_pattern(const Row& row, Csr<double> a) {
  Array<double>& values = a.values();
  std::replace(values.data(), values.data() + values.size(), 0.0, 1.0);
  const Structure s = analyze_structure<double>(a);
  expect_number(row, "maxrow", s.longest_row);
  expect_number(row, "empty_rows", s.empty_rows);
  expect_number(row, "bandwidth", std::max(s.lower_bandwidth, s.upper_bandwidth));
  expect_number(row, "struct_rank", structural_rank<double>(a));
}

TEST_F(RealMatrices, StructureAndStructuralRank_AgreeWithCatalogue) {
  const std::vector<Row> rows = catalogue();
  EXPECT_FALSE(rows.empty());
  for (const Row& row : rows) {
    const std::string path = (real_matrices() / row.at("file")).string();
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(row.at("file"));
    const auto a = read_matrix_market<double>(path);
    expect_facts(row, analyze_structure<double>(a));
    expect_pattern(row, a);
  }
}

}  // namespace
}  // namespace echelon::test
