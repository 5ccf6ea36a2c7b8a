// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace echelon {

/// Style sheet of pages. Colours of text have a contrast of at least 4.5 to the background in both palettes.
constexpr std::string_view page_style = R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #1b2130; --soft: #565e70; --line: #d4d8e1;
  --panel: #f4f6f9; --blue: #1763c6; --bar: #3588f2; --good: #147042; --warning: #8a5200; --failure: #b42323;
  --goal: #b0480f }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #14171d; --ink: #e6e9ef; --soft: #a7afbe; --line: #383f4c; --panel: #1d2129; --blue: #77b0ff;
    --good: #5fcd95; --warning: #f1b75f; --failure: #ff918b; --goal: #ff9d66 } }
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", sans-serif }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem clamp(.8rem, 3vw, 2rem) 3rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .7rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line) }
a { color: var(--blue) }
small { display: block; font-size: .85rem; color: var(--soft) }
.subtitle { margin: 0 0 .8rem; color: var(--soft) }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 0 0 1rem; padding: 0; list-style: none;
  font-size: .9rem }
.outcome { margin: .6rem 0; padding: .7rem 1rem; border: 1px solid var(--line); border-left: .35rem solid;
  border-radius: .3rem; background: var(--panel) }
.outcome > span, .outcome > strong { color: inherit }
.outcome.good > strong, .outcome.good > span, .good > dd { color: var(--good) }
.outcome.warning > strong, .outcome.warning > span, .warning > dd { color: var(--warning) }
.outcome.failure > strong, .outcome.failure > span, .failure > dd { color: var(--failure) }
.outcome.good { border-left-color: var(--good) }
.outcome.warning { border-left-color: var(--warning) }
.outcome.failure { border-left-color: var(--failure) }
.outcome.note { border-left-color: var(--bar) }
dl { margin: .6rem 0 }
dd { margin: 0 }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); gap: .7rem }
.figures > div { padding: .6rem .9rem; border: 1px solid var(--line); border-radius: .3rem }
.figures dt { font-size: .85rem; color: var(--soft) }
.figures dd { font-size: 1.1rem; font-weight: 600 }
.figures small { font-weight: 400 }
.facts > div { display: grid; grid-template-columns: minmax(7rem, 16rem) 1fr; gap: 0 1rem; padding: .25rem 0;
  border-bottom: 1px solid var(--line) }
.facts dt { color: var(--soft) }
.scroll { overflow-x: auto; margin: .8rem 0 }
table { border-collapse: collapse; font-size: .92rem; overflow-wrap: normal }
caption { padding: .3rem 0; text-align: left; color: var(--soft) }
th, td { padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: top; font-weight: inherit }
thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; font-weight: 600 }
tbody tr { border-bottom: 1px solid var(--line) }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.scroll table { font-size: .86rem }
.scroll .number { padding: .25rem 0 .25rem .6rem }
.bars { width: 100%; max-width: 46rem; margin: .8rem 0 }
.bars th { width: 36%; overflow-wrap: anywhere }
.bars td:last-child { width: 1% }
.bars span { display: block; height: .8rem; margin-top: .35rem; min-width: 1px; background: var(--bar);
  border-radius: .15rem; -webkit-print-color-adjust: exact; print-color-adjust: exact }
figure { display: inline-block; max-width: 100%; margin: .8rem 1.5rem .8rem 0; vertical-align: top }
figure svg { display: block; max-width: 100%; height: auto }
figure svg text { fill: var(--soft) }
figure svg .data-label { fill: var(--blue) }
figure svg .goal-label { fill: var(--goal) }
figcaption { max-width: 38rem; font-size: .9rem; color: var(--soft) }
pre { padding: .7rem 1rem; border: 1px solid var(--line); border-radius: .3rem; background: var(--panel);
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: .9rem }
@media (max-width: 30rem) { .facts > div { grid-template-columns: 1fr } .facts dt { font-size: .85rem } }
@media print { body { font-size: 11pt } main { max-width: none; padding: 0 } nav { display: none }
  .scroll { overflow: visible } figure, .outcome, .figures > div, tr { break-inside: avoid }
  h2 { break-after: avoid } .outcome, pre { background: none } }
)";

}  // namespace echelon
