/** The style of a report. It names no address, so it loads nothing. */
export const reportStyle = `
:root {
  --paper: #fdfdfc; --card: #f6f6f4; --ink: #1d1d1b; --soft: #65655f;
  --line: #e3e3de; --good: #1a7f37; --bad: #b3261e; --warn: #8a5a00;
  --plus: #e6f4e8; --minus: #fbeae8; --accent: #3452a8;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #161615; --card: #1f1f1d; --ink: #e9e9e4; --soft: #a3a39b;
    --line: #33332f; --good: #6fcf85; --bad: #f2938a; --warn: #e0b25c;
    --plus: #17301d; --minus: #3a1f1d; --accent: #9db3f5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 60rem; padding: 2.5rem 1.25rem 4rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.6 var(--sans); overflow-wrap: anywhere;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100%;
}
h1 { font-size: 1.6rem; line-height: 1.3; font-weight: 650; margin: .25rem 0 .75rem; letter-spacing: -.01em; text-wrap: balance; }
h2 { font-size: 1.05rem; font-weight: 650; margin: 0 0 .75rem; }
p { margin: 0 0 .5rem; }
section { margin-top: 2.25rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
code, pre, .path, .diff { font-family: var(--mono); font-size: .85em; }
pre { margin: 0; white-space: pre-wrap; font-size: .8125rem; line-height: 1.55; }
pre.prose, .words { font-family: var(--sans); font-size: 1rem; line-height: 1.6; white-space: pre-wrap; }
.eyebrow, .quiet, .cut, .kind, footer, time { color: var(--soft); }
.eyebrow { font-size: .875rem; margin: 0; }
.summary { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; color: var(--soft); }
.status { font-weight: 600; white-space: nowrap; color: var(--soft); }
.status::before { content: ""; display: inline-block; width: .55em; height: .55em; margin-right: .45em; border-radius: 50%; background: currentColor; }
.completed { color: var(--good); }
.failed { color: var(--bad); }
.running, .asking, .timeout, .interrupted { color: var(--warn); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); gap: 0 2.5rem; margin: 0; }
dl div { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .75rem; padding: .3rem 0; }
dt { color: var(--soft); font-size: .875rem; line-height: 1.6rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.callout { border-left: 3px solid var(--bad); background: var(--card); padding: .9rem 1.1rem; border-radius: 0 6px 6px 0; }
.callout pre { font-family: var(--sans); font-size: 1rem; margin-bottom: .4rem; }
.callout p { margin: 0; color: var(--soft); }
.plain { list-style: none; margin: 0; padding: 0; }
summary { cursor: pointer; color: var(--soft); font-size: .875rem; }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 3px; }
details[open] > summary { margin-bottom: .4rem; }
.answer > * + * { margin-top: .75rem; }
.answer pre, .turn.text pre, details > pre:not(.prose) { background: var(--card); border-radius: 6px; padding: .75rem .9rem; }
.words .head { display: block; font-weight: 650; }
a { color: var(--accent); }
.words code, p.call code { background: var(--card); border-radius: 4px; padding: .1em .3em; }
.turns { list-style: none; margin: 0; padding: 0; }
.turn, .relatives li, .entries li { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .75rem; padding: .5rem 0; }
.turn + .turn { border-top: 1px solid var(--line); }
.nested { padding-left: 1.25rem; }
.kind { font-size: .875rem; line-height: 1.6rem; }
.body > :last-child { margin-bottom: 0; }
.body > * + * { margin-top: .4rem; }
p.call { margin: 0; }
p.call code { white-space: pre-wrap; -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.thinking .body, .notice .body { color: var(--soft); }
.notice .words { font-size: .9375rem; }
details.failed > summary, p.failed { color: var(--bad); }
p.failed, p.quiet { font-size: .875rem; }
.file { border: 1px solid var(--line); border-radius: 8px; margin-top: .75rem; overflow: hidden; }
.file > summary, .file > p { padding: .55rem .9rem; margin: 0; color: var(--ink); font-size: .9375rem; background: var(--card); }
.file[open] > summary { margin-bottom: 0; }
.file .diff { border-top: 1px solid var(--line); }
.file > .cut { padding: .5rem .9rem; margin: 0; }
.path { font-size: .85rem; }
.tag { color: var(--soft); font-size: .8125rem; font-style: italic; }
.plus { color: var(--good); } .minus { color: var(--bad); }
.plus, .minus { font-size: .8125rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.diff { font-size: .78rem; line-height: 1.6; }
.body .diff { border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.diff > div { display: grid; grid-template-columns: 3.25rem 1.25rem minmax(0, 1fr); padding-right: .75rem; }
.diff i { color: var(--soft); font-style: normal; text-align: right; padding-right: .5rem; user-select: none; -webkit-user-select: none; }
.diff b { font-weight: 400; text-align: center; }
.diff code { white-space: pre-wrap; font-size: inherit; }
.diff > .hunk { display: block; padding: .15rem .9rem; color: var(--soft); background: var(--card); }
.diff > .hunk:empty { display: none; }
.diff > .added { background: var(--plus); } .diff > .removed { background: var(--minus); }
.diff > .added b { color: var(--good); } .diff > .removed b { color: var(--bad); }
.diff > .note { color: var(--soft); }
.entries li { grid-template-columns: 10.5rem 6rem minmax(0, 1fr); padding: .25rem 0; }
.entries time { font-variant-numeric: tabular-nums; font-size: .875rem; line-height: 1.6rem; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .8125rem; }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 3rem; }
  h1 { font-size: 1.35rem; }
  section { margin-top: 1.75rem; padding-top: 1.25rem; }
  .turn, .relatives li { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .kind { line-height: 1.4; }
  .entries li { grid-template-columns: minmax(0, 1fr) auto; gap: 0 .75rem; padding: .4rem 0; }
  .entries .body { grid-column: 1 / -1; }
  .diff > div { grid-template-columns: 2.4rem 1rem minmax(0, 1fr); padding-right: .4rem; }
}
@media print {
  body { max-width: none; padding: 0; }
  .file, .turn { break-inside: avoid-page; }
}
`;
