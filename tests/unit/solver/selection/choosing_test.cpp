// SPDX-License-Identifier: BSD-3-Clause
/// docs/choosing.md lists the candidates of some matrices: they are those that choose() returns.
#include "support/problems.hpp"
#include "support/test_data.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace echelon::test {
namespace {

std::string text_of(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.get())) return *text;
  if (const auto* flag = std::get_if<bool>(&value.get())) return *flag ? "true" : "false";
  return std::to_string(std::get<std::int64_t>(value.get()));
}

/// A row of the table: "| WHAT | `cg` (preconditioner=ilu0); `lapack-lu` |".
std::string row(const std::string& what, const Csr<double>& A) {
  std::string list;
  for (const Candidate& candidate : choose<double>(A, Device::serial())) {
    std::string options;
    for (const auto& [name, value] : candidate.parameters.entries()) {
      options += (options.empty() ? "" : ", ") + name + "=" + text_of(value);
    }
    list +=
        (list.empty() ? "`" : "; `") + candidate.method + "`" + (options.empty() ? "" : " (" + options + ")");
  }
  return "| " + what + " | " + list + " |\n";
}

TEST(Choosing, Guide_ListsCandidates) {
  std::ifstream file(source_directory() / "docs" / "choosing.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& expected :
       {row("Poisson, 20 by 20 points", convection_diffusion(20, 0).csr<double>()),
        row("Poisson, 250 by 250 points", convection_diffusion(250, 0).csr<double>()),
        row("convection-diffusion, 20 by 20 points", convection_diffusion(20, 0.3).csr<double>()),
        row("convection-diffusion, 250 by 250 points", convection_diffusion(250, 0.3).csr<double>()),
        row("adjacency matrix of a path, n = 100,000", path(100'000).csr<double>()),
        row("cyclic shift, n = 100,000", shifted_cycle(100'000).csr<double>())}) {
    EXPECT_NE(guide.find(expected), std::string::npos) << "docs/choosing.md lacks\n" << expected;
  }
}

}  // namespace
}  // namespace echelon::test
