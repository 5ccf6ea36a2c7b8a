#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the tool in a browser: nothing overflows, nothing is loaded, texts can be read.

Usage: pages_test.py TOOL [PICTURES]     with PICTURES, writes a picture of each page there
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import browser

SKIPPED = 77  # exit status that ctest takes for a skipped test
ROOT = Path(__file__).resolve().parents[2]
WIDTHS = [400, 1200]

# Elements whose box leaves the window, excluding those that an element with a scroll bar contains.
OVERFLOWING = """
[...document.querySelectorAll('body *')].filter(element => {
  const box = element.getBoundingClientRect();
  if (box.width === 0 || (box.right <= innerWidth + 0.5 && box.left >= -0.5)) return false;
  for (let parent = element.parentElement; parent; parent = parent.parentElement)
    if (parent.classList.contains('scroll')) return false;
  return true;
}).map(element => element.tagName + ': ' + element.textContent.slice(0, 40))
"""
# Texts of pictures that leave their picture.
CUT = """
[...document.querySelectorAll('svg text')].filter(text => {
  const box = text.getBoundingClientRect(), picture = text.ownerSVGElement.getBoundingClientRect();
  return box.right > picture.right + 1 || box.left < picture.left - 1 || box.bottom > picture.bottom + 1 || box.top < picture.top - 1;
}).map(text => text.textContent)
"""
# Texts whose contrast to their background is less than 4.5, with the ratio.
FAINT = """
(() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const background = element => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll('body *')) {
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())) continue;
    const style = getComputedStyle(element);
    if (style.display === 'none' || ['SCRIPT', 'STYLE', 'style', 'title'].includes(element.tagName)) continue;
    const colour = parse(element.ownerSVGElement ? style.fill : style.color);
    const [high, low] = [light(colour), light(background(element))].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) faint.push(ratio.toFixed(2) + ': ' + element.textContent.slice(0, 40));
  }
  return faint;
})()
"""
# Elements of a page that need a text or a title, and have none.
NAMELESS = """
[...document.querySelectorAll('svg')].filter(svg => !svg.querySelector('title') || !svg.querySelector('title').textContent.trim())
  .map(svg => 'svg').concat([...document.querySelectorAll('figure')].filter(f => !f.querySelector('figcaption')).map(() => 'figure'),
  document.title ? [] : ['title'], document.documentElement.lang ? [] : ['lang'])
"""


class Pages(unittest.TestCase):
    tool = ""
    pictures = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = browser.Browser(browser.find())

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def path(self, name):
        return Path(self.folder.name) / name

    def page(self, name, *arguments, codes=(0,)):
        """Writes a page by a command of the tool, and looks at it."""
        path = self.path(name + ".html")
        done = subprocess.run([self.tool, *map(str, arguments), "--report", str(path), "--quiet"], capture_output=True, text=True,
                              cwd=self.folder.name, check=False)
        self.assertIn(done.returncode, codes, done.stderr)
        self.look(name, path)

    def look(self, name, path):
        self.assertLess(path.stat().st_size, 1_000_000)
        for width in WIDTHS:
            for dark in [False, True]:
                with self.subTest(page=name, width=width, dark=dark):
                    self.browser.open(path, width, dark=dark)
                    self.assertEqual(self.browser.requests, ["file://" + str(path)])
                    self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.browser.evaluate(OVERFLOWING), [])
                    self.assertEqual(self.browser.evaluate(CUT), [])
                    self.assertEqual(self.browser.evaluate(FAINT), [])
                    self.assertEqual(self.browser.evaluate(NAMELESS), [])
                    if self.pictures:
                        self.browser.picture(Path(self.pictures) / f"{name}-{width}{'-dark' if dark else ''}.png")

    def generate(self, name, *arguments):
        subprocess.run([self.tool, "generate", *arguments, "-o", str(self.path(name)), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        return self.path(name)

    def test_solve(self):
        grid = self.generate("grid.mtx", "poisson-2d", "-p", "nx=40", "-p", "ny=40")
        grid_rows = 1600
        self.page("iterative", "solve", grid, "--method", "cg", "-p", "preconditioner=amg")
        self.page("direct", "solve", grid, "--certify")
        self.page("certificate-refused", "solve", ROOT / "data/orsirr_1.mtx.gz", "--certify", "--method", "sparse-lu", codes=(0, 1))
        columns = self.path("columns.txt")
        columns.write_text("".join(f"1 {i} {i % 7}\n" for i in range(grid_rows)), encoding="utf-8")
        self.page("columns", "solve", grid, "--rhs", columns)

    def test_failures(self):
        self.page("limit", "solve", ROOT / "data/orsirr_1.mtx.gz", "--method", "gmres", "--max-iterations", 30, codes=(1,))
        singular = self.path("a rather long name of a file that has to be broken somewhere, singular.mtx")
        singular.write_text("%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n4\n", encoding="utf-8")
        self.page("singular", "solve", singular, "--rhs", "ones", codes=(4,))
        self.page("ill-conditioned", "solve", self.generate("hilbert.mtx", "hilbert", "-p", "n=11"), codes=(0, 1, 4))

    def test_info(self):
        self.page("info", "info", ROOT / "data/west0479.mtx.gz")
        grid = self.generate("grid.mtx", "poisson-2d", "-p", "nx=30")
        self.page("info-hierarchy", "info", grid, "--hierarchy", "--dependencies")
        wide = self.path("wide.mtx")
        wide.write_text("%%MatrixMarket matrix coordinate real general\n3 100000 2\n1 1 1e-300\n3 99999 1e300\n", encoding="utf-8")
        self.page("info-wide", "info", wide)

    def test_compare(self):
        grid = self.generate("grid.mtx", "poisson-2d", "-p", "nx=30")
        self.page("compare", "compare", grid)
        self.page("compare-failures", "compare", ROOT / "data/orsirr_1.mtx.gz", "--methods", "cg,jacobi,gmres/restart=5", "--limit", "5s",
                  codes=(0, 1))

    def test_rank(self):
        self.page("rank", "rank", ROOT / "data/west0479.mtx.gz")
        self.page("rank-modulo", "rank", ROOT / "data/west0479.mtx.gz", "-p", "field=mod:2147483647", codes=(0, 2, 4))

    def test_graph(self):
        graph = self.generate("graph.mtx", "grid-2d", "-p", "nx=12")
        self.page("components", "graph", "components", graph)
        self.page("fiedler", "graph", "fiedler", graph, "-k", 2)


if __name__ == "__main__":
    if browser.find() is None:
        print("skipped: there is no Chromium; scripts/install-packages test installs it")
        sys.exit(SKIPPED)
    Pages.tool = os.path.abspath(sys.argv[1])
    Pages.pictures = sys.argv[2] if len(sys.argv) > 2 else None
    unittest.main(argv=sys.argv[:1])
