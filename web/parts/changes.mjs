import { useMemo, useState } from 'preact/hooks';
import { filesIn, mostOpenLines } from '../diff.mjs';
import { counted } from '../format.mjs';
import { html } from '../html.mjs';
import { isActive } from '../store.mjs';
import { Loading } from './empty.mjs';
import { More, useParts } from './long-text.mjs';

/** Lines of one file that are shown before `Show all`. */
const mostLines = 2000;

export function Changes({ id, row, data }) {
  const changes = data?.changes;
  if (!changes)
    return isActive(row) || !data
      ? null
      : html`<section aria-labelledby="changes"><h2 id="changes">Changes</h2><p class="note">Its changes were not recorded.</p></section>`;
  const { files, total, note, patch_bytes: bytes } = changes;
  const count =
    total === null
      ? null
      : html`<span class="count">${counted(total, 'file')}</span>`;
  return html`
    <section aria-labelledby="changes">
      <h2 id="changes">Changes ${count}</h2>
      ${note ? html`<p class="note">${note}</p>` : null}
      ${total === 0 ? html`<p class="note">It changed no files.</p>` : null}
      ${bytes > 0 ? html`<${Patch} path=${`/web/agents/${id}/diff`} known=${files ?? []} />` : html`<${FileList} files=${files ?? []} />`}
    </section>`;
}

function FileList({ files }) {
  if (files.length === 0) return null;
  return html`<ul class="files">${files.map((file) => html`<li><code>${file.path}</code> ${file.added === null ? 'binary' : `+${file.added} −${file.removed}`}</li>`)}</ul>`;
}

function Patch({ path, known }) {
  const { text, next, total, isLoaded, error, load } = useParts(path);
  const files = useMemo(() => filesIn(text), [text]);
  if (error) return html`<${Loading} error=${error} />`;
  if (!isLoaded) return html`<${Loading} />`;
  const shared = new Set(
    known.filter((file) => file.shared).map((file) => file.path)
  );
  return html`
    <div class="diff">${files.map((file, index) => html`<${File} key=${`${index} ${file.path}`} file=${file} isShared=${shared.has(file.path)} />`)}</div>
    <${More} next=${next} total=${total} load=${load} />`;
}

function File({ file, isShared }) {
  const [isOpen, setOpen] = useState(file.lines.length <= mostOpenLines);
  return html`
    <details class="file" open=${isOpen} onToggle=${({ target }) => setOpen(target.open)}>
      <summary>
        <code>${file.path}</code>
        ${file.note ? html`<span class="note">${file.note}</span>` : null}
        ${isShared ? html`<span class="note">perhaps also changed by another agent</span>` : null}
        <span class="numbers"><span class="added">+${file.added}</span> <span class="removed">−${file.removed}</span></span>
      </summary>
      ${isOpen ? html`<${Hunks} file=${file} />` : null}
    </details>`;
}

/** The lines of one file. No other part of the screen has the same name. */
export function Hunks({ file, name = `Changes of ${file.path}` }) {
  const [most, setMost] = useState(mostLines);
  if (file.isBinary) return html`<p class="note">A binary file.</p>`;
  const rest = file.lines.length - most;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${name}>
      <div class="hunks">${file.lines.slice(0, most).map((line) => html`<${Line} line=${line} />`)}</div>
    </div>
    ${rest > 0 ? html`<button class="button small" onClick=${() => setMost(most + mostLines)}>More (${counted(rest, 'line')} left)</button>` : null}`;
}

const signs = { added: '+', removed: '−', same: ' ', hunk: '', note: '' };

function Line({ line: { kind, old, new: fresh, text } }) {
  return html`<div class=${`line is-${kind}`}><span class="no" aria-hidden="true">${old ?? ''}</span><span class="no" aria-hidden="true">${fresh ?? ''}</span><span class="sign">${signs[kind]}</span><span class="code-text">${text}</span></div>`;
}
