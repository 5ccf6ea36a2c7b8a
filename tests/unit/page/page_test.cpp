// SPDX-License-Identifier: BSD-3-Clause
/// Pages in HTML.
#include <echelon/echelon.hpp>
#include <echelon/page/page.hpp>
#include <echelon/page/report_page.hpp>
#include <echelon/solver/report_json.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t largest_page = 1'000'000;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}
bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A page that runs and loads nothing, and whose elements are closed.
void expect_sound(const std::string& page) {
  EXPECT_LT(page.size(), largest_page);
  EXPECT_EQ(count(page, "<script"), count(page, "<script type=\"application/json\""));
  EXPECT_FALSE(contains(page, "javascript:"));
  EXPECT_FALSE(contains(page, "url("));
  EXPECT_FALSE(contains(page, " src="));
  for (const char* element : {"section", "table", "tr", "dl", "div", "figure", "svg", "ul", "main", "html"}) {
    const std::string name(element);
    EXPECT_EQ(count(page, "<" + name + ">") + count(page, "<" + name + " "), count(page, "</" + name + ">"))
        << name;
  }
  EXPECT_EQ(count(page, "href=\"http"), 0U);
}

Report iterated() {
  Report report;
  report.status = Status::converged;
  report.method = "cg (preconditioner=amg, weight=0.5)";
  report.reason = "A is symmetric & positive";
  report.iterations = 3;
  report.history = {1, 1e-3, 1e-6, 1e-9};
  report.residual_norm = 2e-9;
  report.relative_residual = 1e-9;
  report.tolerance = 2e-8;
  report.error_estimate = 2e-6;
  report.statistics = {{"preconditioner.level_rows", std::vector<std::int64_t>{100, 10}},
                       {"preconditioner.level_nonzeros", std::vector<std::int64_t>{500, 70}},
                       {"preconditioner.level_bytes", std::vector<std::int64_t>{4096, 0}},
                       {"preconditioner.coarsening", std::string("classical")}};
  report.solve_seconds = 0.25;
  report.bytes = 1536;
  report.columns = {{Status::converged, 3, 1e-9, 1e-12, 2e-6}};
  report.attempts = {{"sparse-cholesky", Status::not_spd, "pivot 3 is <negative>", 0.5}};
  return report;
}

TEST(Page, Texts_AreEscaped) {
  Page page("<b>&\"'", "sub\xFFtitle");
  page.section("a < b");
  page.paragraph("x\x01y </main>");
  page.outcome({"L", "V", "E>", Severity::warning});
  page.table({.caption = "c", .columns = {"<1>"}, .rows = {{"<2>", "<3>"}}});
  page.code("rm <file>");
  page.data(R"({"text": "</script><script>alert(1)</script>"})");
  const std::string html = page.html();
  expect_sound(html);
  EXPECT_TRUE(contains(html, "<h1>&lt;b&gt;&amp;&quot;&#39;</h1>"));
  EXPECT_TRUE(contains(html, "sub\uFFFDtitle"));
  EXPECT_TRUE(contains(html, "x y &lt;/main&gt;"));
  EXPECT_TRUE(contains(html, "\\u003c/script>\\u003cscript>alert"));
  EXPECT_EQ(count(html, "</script>"), 1U);
}

TEST(Page, InvalidUtf8_IsReplaced) {
  const auto shown = [](const std::string& text) {
    Page page("t");
    page.paragraph(text);
    const std::string html = page.html();
    const std::size_t begin = html.find("<p>") + 3;
    return html.substr(begin, html.find("</p>") - begin);
  };
  EXPECT_EQ(shown("\u00e9\u20ac\U0001F600"), "\u00e9\u20ac\U0001F600");
  EXPECT_EQ(shown("\xC0\x80"), "\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(shown("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // surrogate
  EXPECT_EQ(shown("\xE2\x82"), "\uFFFD\uFFFD");                      // cut off
  EXPECT_EQ(shown("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // past U+10FFFF
  EXPECT_EQ(shown(std::string("a\0b", 3)), "a b");
}

TEST(Page, LongTablesAndData_AreCut) {
  Page page("t");
  PageTable table{.caption = "long", .columns = {"i"}, .rows = {}};
  for (int i = 0; i < 1000; ++i) table.rows.push_back({std::to_string(i)});
  page.table(table, 10);
  page.data("[" + std::string(500'000, ' ') + "]");
  const std::string html = page.html();
  expect_sound(html);
  EXPECT_EQ(count(html, "<th scope=\"row\">"), 10U);
  EXPECT_TRUE(contains(html, "990 more rows are not shown."));
  EXPECT_TRUE(contains(html, "500,002 bytes"));
}

TEST(Page, Bars_NeedAPositiveValue) {
  Page page("t");
  page.bars("nothing", std::array{PageBar{"a", 0, "0"}});
  page.bars("not finite", std::array{PageBar{"a", nan, "?"}});
  EXPECT_FALSE(contains(page.html(), "<caption>"));
  page.bars("two", std::array{PageBar{"a", 1, "1"}, PageBar{"b", 4, "4"}, PageBar{"c", nan, "?"}});
  EXPECT_TRUE(contains(page.html(), "width:25.0%"));
  expect_sound(page.html());
}

TEST(ShellCommand, SpecialWords_AreQuoted) {
  EXPECT_EQ(shell_command(std::array<std::string, 4>{"echelon", "a b", "", "it's"}),
            R"(echelon 'a b' '' 'it'\''s')");
  EXPECT_EQ(shell_command(std::array<std::string, 2>{"x", "$(rm);`a`"}), "x '$(rm);`a`'");
}

TEST(ReportPage, Iteration_HasItsParts) {
  const std::string html = to_html(iterated());
  expect_sound(html);
  for (const char* part :
       {"<strong>Solved</strong> cg converged after 3 iterations", "A is symmetric &amp; positive",
        "pivot 3 is &lt;negative&gt;", "polyline", "tolerance 1e-08", "classical", "250 ms", "1.5 KiB",
        "echelon solve A.mtx --rhs b.mtx --method cg --device openmp -p preconditioner=amg -p weight=0.5",
        "expect about 5 correct digits"})
    EXPECT_TRUE(contains(html, part)) << part;
  EXPECT_LT(html.find("expect about 5"), html.find("<h2"));  // how good the answer is comes first
  EXPECT_LT(html.find("polyline"), html.find(">Hierarchy</h2>"));
}

TEST(ReportPage, EveryStatus_HasAPage) {
  for (int code = 0; code <= static_cast<int>(Status::cancelled); ++code) {
    Report report;
    report.status = static_cast<Status>(code);
    const std::string html = to_html(report);
    expect_sound(html);
    EXPECT_EQ(contains(html, "outcome good"), report.solved() || report.ready()) << to_string(report.status);
  }
}

TEST(ReportPage, HugeReport_StaysSmall) {
  Report report = iterated();
  report.iterations = 1'000'000;
  report.history.assign(1'000'001, 0.5);
  for (std::size_t i = 0; i < report.history.size(); ++i) report.history[i] = 1 / static_cast<double>(i + 1);
  report.columns.assign(20'000, report.columns.front());
  report.message = std::string(3000, 'm');
  report.statistics.push_back({"long_list", std::vector<std::int64_t>(100'000, 7)});
  const std::string html = to_html(report);
  expect_sound(html);
  EXPECT_TRUE(contains(html, "19,800 more rows are not shown."));
}

TEST(ReportPage, NotFinite_IsShown) {
  Report report = iterated();
  report.status = Status::diverged;
  report.history = {1, 1e10, infinity, nan};
  report.relative_residual = infinity;
  report.residual_norm = infinity;
  expect_sound(to_html(report));
  report.history = {0, 0};
  report.relative_residual = 0;
  report.residual_norm = 0;
  expect_sound(to_html(report));
  report.history = {nan};
  report.relative_residual = nan;
  expect_sound(to_html(report));
}

TEST(ReportPage, Certificate_ProvenOrNot) {
  Report report = iterated();
  ErrorCertificate certificate;
  certificate.reason = "A is too large";
  report.certificate = std::make_shared<ErrorCertificate>(certificate);
  EXPECT_TRUE(contains(to_html(report), "<strong>No bound</strong>"));
  certificate.proof = Proof::positive_definite;
  certificate.error_bound = 1e-13;
  certificate.relative_error_bound = 2e-13;
  certificate.smallest_eigenvalue = 0.5;
  report.certificate = std::make_shared<ErrorCertificate>(certificate);
  const std::string html = to_html(report);
  EXPECT_TRUE(contains(html, "at most 1.000e-13"));
  EXPECT_TRUE(contains(html, "positive-definite"));
  expect_sound(html);
}

TEST(ReportPage, RealSolve_WithMatrixAndFactor) {
  const Csr<double> A = generate::poisson_2d<double>(12, 11);
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  const auto [x, report] = solve(A, b, {.method = "sparse-cholesky"});
  PageDetails details;
  details.title = "poisson";
  details.matrix = portrait(MatrixRef<double>(A));
  details.factor = factor_pattern(A);
  details.command = "make it";
  const std::string html = to_html(report, details);
  expect_sound(html);
  for (const char* part : {"<h1>poisson</h1>", "132 x 132", "Pattern of L in the order",
                           "Fronts by their rows", "make it", "symmetric, in pattern and in values"})
    EXPECT_TRUE(contains(html, part)) << part;
  EXPECT_EQ(details.matrix->components, 1);
  EXPECT_FALSE(details.matrix->blocks);
}

TEST(ReportPage, Map_IsListedAndDrawn) {
  Report report;
  report.method = "mapped-echelon";
  EXPECT_FALSE(contains(to_html(report), "Map"));
  report.row_of_unknown =
      std::make_shared<const std::vector<std::int64_t>>(std::vector<std::int64_t>{0, 3, -1});
  const std::string page = to_html(report);
  expect_sound(page);
  EXPECT_TRUE(contains(page, "2 of 3 unknowns have one, 1 free"));
  EXPECT_TRUE(contains(page, "row 3"));
  EXPECT_TRUE(contains(page, "column j, of unknown j"));
  report.row_of_unknown = std::make_shared<const std::vector<std::int64_t>>(3, -1);
  expect_sound(to_html(report));
  std::vector<std::int64_t> many(100'000);
  std::iota(many.rbegin(), many.rend(), std::int64_t{0});
  report.row_of_unknown = std::make_shared<const std::vector<std::int64_t>>(std::move(many));
  expect_sound(to_html(report));
}

TEST(Portrait, Magnitudes_CountFiniteElements) {
  Dense<double> A(Device(), 2, 4);
  const std::array<double, 8> values = {1e-300, -1e300, 0, nan, infinity, 1, -9.99, 1000};
  std::copy(values.begin(), values.end(), A.data());
  const MatrixPortrait found = portrait(MatrixRef<double>(A));
  EXPECT_LE(found.magnitudes.size(), 24U);
  const auto elements =
      std::accumulate(found.magnitudes.begin(), found.magnitudes.end(), std::int64_t{0},
                      [](std::int64_t sum, const MagnitudeCount& m) { return sum + m.elements; });
  EXPECT_EQ(elements, 5);
  for (std::size_t k = 1; k < found.magnitudes.size(); ++k)
    EXPECT_EQ(found.magnitudes[k].first, found.magnitudes[k - 1].end);
  EXPECT_LE(found.magnitudes.front().first, -300);
  EXPECT_GE(found.magnitudes.back().end, 301);
}

TEST(Portrait, EmptyAndSmall) {
  for (const auto& [rows, columns] : {std::pair(0, 0), std::pair(1, 1), std::pair(0, 3), std::pair(5, 1)}) {
    Dense<float> A(Device(), rows, columns);
    std::fill_n(A.data(), rows * columns, 2.0F);
    const MatrixPortrait dense = portrait(MatrixRef<float>(A));
    EXPECT_EQ(dense.structural_rank, std::min(rows, columns));
    EXPECT_EQ(dense.magnitudes.size(), rows * columns > 0 ? 1U : 0U);
    const MatrixPortrait sparse = portrait(MatrixRef<float>(to_csr(MatrixRef<float>(A))));
    EXPECT_EQ(sparse.structure.rows, rows);
    Page page("small");
    add_matrix(page, sparse);
    expect_sound(page.html());
  }
}

TEST(Portrait, DensePatternOfManyCells_StaysSmall) {
  Dense<double> A(Device(), 500, 500);
  for (std::int64_t j = 0; j < 500; ++j) {
    for (std::int64_t i = 0; i < 500; ++i) A(i, j) = (i * 7919 + j * 104729) % 11 < 5 ? 1.5 : 0;
  }
  const MatrixPortrait found = portrait(MatrixRef<double>(A));
  EXPECT_LT(found.spy.size(), 450'000U);
}

TEST(Portrait, Operator_IsRefused) {
  const LinearOperator<double> A(3, 3, [](const double* x, double* y) { std::copy_n(x, 3, y); });
  EXPECT_THROW(static_cast<void>(portrait(MatrixRef<double>(A))), Error);
}

}  // namespace
}  // namespace echelon::test
