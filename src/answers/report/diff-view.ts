import { type Html, html } from '../html.ts';
import type { DiffFile, DiffHunk, DiffLine } from '../unified-diff.ts';

/** A diff of more lines is closed at first. */
const openLines = 60;

/** One changed file; its heading has the path and the number of lines. */
export function fileView(file: DiffFile): Html {
  const { added, removed, isBinary, hunks, linesLeftOut } = file;
  const name =
    file.oldPath === undefined
      ? html`${file.path}`
      : html`${file.oldPath} → ${file.path}`;
  const about = [
    file.change === 'changed' ? '' : file.change,
    isBinary ? 'binary' : ''
  ].filter(Boolean);
  const head = html`<span class="path">${name}</span>${about.map((word) => html` <span class="tag">${word}</span>`)}${countsView(added, removed)}`;
  if (hunks.length === 0) return html`<div class="file"><p>${head}</p></div>`;
  const isOpen = added + removed <= openLines;
  return html`<details class="file"${isOpen && html` open`}><summary>${head}</summary>${hunksView(hunks)}${
    linesLeftOut > 0 &&
    html`<p class="cut">${linesLeftOut} more lines are left out.</p>`
  }</details>`;
}

export function countsView(added: number, removed: number): Html {
  return html`${added > 0 && html` <span class="plus">+${added}</span>`}${removed > 0 && html` <span class="minus">−${removed}</span>`}`;
}

export function hunksView(hunks: DiffHunk[]): Html {
  return html`<div class="diff">${hunks.map(hunkView)}</div>`;
}

function hunkView({ header, lines }: DiffHunk): Html {
  return html`<div class="hunk">${header}</div>${lines.map(lineView)}`;
}

const signs = { same: ' ', added: '+', removed: '−', note: '' };

function lineView({ kind, text, old, new: now }: DiffLine): Html {
  return html`<div class="${kind}"><i>${now ?? old}</i><b>${signs[kind]}</b><code>${text}</code></div>`;
}
