import { useEffect, useRef, useState } from 'preact/hooks';
import { filesIn } from '../diff.mjs';
import { counted } from '../format.mjs';
import { html } from '../html.mjs';
import { blocksOf, Markdown } from '../markdown.mjs';
import { get } from '../session.mjs';
import { Hunks } from './changes.mjs';

/** Longer texts of tools are closed at first. */
const openLines = 8;
const openChars = 600;

/**
 * What an agent said and did, the newest turns first loaded.
 * @param sizes changes when the agent has written more
 * @param fallback shown for an engine without turns
 */
export function Turns({ id, sizes, answer, fallback }) {
  const [found, setFound] = useState(undefined);
  const last = useRef(undefined);
  const load = async (query, join) => {
    const page = await get(`/web/agents/${id}/turns${query}`);
    setFound((before) => join(page, before));
  };
  useEffect(() => {
    const from = last.current;
    const query = from === undefined ? '' : `?from=${from}`;
    load(query, (page, before) => newer(page, before)).catch(() =>
      setFound((before) => before ?? { turns: null })
    );
  }, [id, sizes]);
  last.current = found?.turns?.at(-1)?.seq;
  if (found === undefined) return null;
  if (found.turns === null) return fallback;
  if (found.turns.length === 0) return null;
  const [first] = found.turns;
  const earlier = () =>
    load(`?before=${first.seq}`, ({ turns, more }, before) => ({
      turns: [...turns, ...before.turns],
      more
    }));
  return html`
    <section aria-labelledby="turns">
      <h2 id="turns">Transcript</h2>
      ${found.more ? html`<button class="button small" onClick=${earlier}>Earlier</button>` : null}
      <ol class="turns">
        ${grouped(found.turns).map((row) => html`<${Row} key=${row.seq} row=${row} isAnswer=${isAnswer(row, answer)} />`)}
      </ol>
    </section>`;
}

/** Replaces the turns that the page repeats: the last one may have grown. */
function newer({ turns, more }, before) {
  if (turns === null || !before?.turns) return { turns, more };
  const start = turns[0]?.seq ?? Number.POSITIVE_INFINITY;
  // A full page leaves a gap.
  if (more) return { turns, more };
  return {
    turns: [...before.turns.filter(({ seq }) => seq < start), ...turns],
    more: before.more
  };
}

/** Puts edits and the result of a call below it. */
function grouped(turns) {
  const calls = new Map();
  const rows = [];
  for (const turn of turns) {
    const call = turn.id === undefined ? undefined : calls.get(turn.id);
    if (turn.kind === 'tool') {
      const row = { ...turn, edits: [], result: undefined };
      rows.push(row);
      if (turn.id !== undefined) calls.set(turn.id, row);
    } else if (call && turn.kind === 'edit') call.edits.push(turn);
    else if (call && turn.kind === 'result' && !call.result) call.result = turn;
    else rows.push(turn);
  }
  return rows;
}

function isAnswer({ kind, text }, answer) {
  return kind === 'text' && answer !== '' && text.trim() === answer.trim();
}

const labels = {
  text: 'says',
  thinking: 'thinks',
  tool: 'calls',
  result: 'result',
  edit: 'edits',
  notice: 'notice'
};

function Row({ row, isAnswer }) {
  const edits = editsOf(row);
  const label = edits.length > 0 ? 'edits' : labels[row.kind];
  return html`<li class=${`turn is-${row.kind} ${row.within === undefined ? '' : 'is-nested'}`}>
    <span class="turn-kind">${label}</span>
    <div class="turn-body"><${Body} row=${row} edits=${edits} isAnswer=${isAnswer} /></div>
  </li>`;
}

/** A call that failed has made none of its edits. */
function editsOf({ edits = [], result }) {
  return result?.isError ? [] : edits;
}

function Body({ row, edits, isAnswer }) {
  switch (row.kind) {
    case 'text':
      return isAnswer
        ? html`<p class="note">The answer, below.</p>`
        : html`<${Markdown} blocks=${blocksOf(row.text)} />`;
    case 'thinking':
      return html`<${Folded} name="thoughts" text=${row.text} isOpen=${false} />`;
    case 'tool':
      return html`
        <p class="turn-call"><b>${row.name}</b> <code>${row.input}</code></p>
        ${edits.length === 0 && row.result ? html`<${Result} of=${row.result} />` : null}
        ${edits.map((edit) => html`<${Edit} key=${edit.seq} edit=${edit} />`)}`;
    case 'result':
      return html`<${Result} of=${row} />`;
    case 'edit':
      return html`<${Edit} edit=${row} />`;
    default:
      return html`<p>${row.text}</p>`;
  }
}

function Result({ of: { text, isError } }) {
  if (text.trim() === '')
    return html`<p class="note">${isError ? 'failed' : 'no output'}</p>`;
  return html`<${Folded} name=${isError ? 'failed' : 'result'} text=${text} />`;
}

function Folded({ name, text, isOpen: wanted = true }) {
  const lines = text.trimEnd().split('\n').length;
  const isShort = lines <= openLines && text.length <= openChars;
  const [isOpen, setOpen] = useState(wanted && isShort);
  return html`
    <details class=${`turn-text ${name === 'failed' ? 'is-failed' : ''}`} open=${isOpen} onToggle=${({ target }) => setOpen(target.open)}>
      <summary>${name}, ${counted(lines, 'line')}</summary>
      ${isOpen ? html`<pre class="text">${text.trimEnd()}</pre>` : null}
    </details>`;
}

function Edit({ edit }) {
  const { path, change } = edit;
  const file = fileOf(edit);
  const [isOpen, setOpen] = useState(file.lines.length <= openLines);
  const head = html`<code>${path}</code>${change && change !== 'changed' ? html` <span class="note">${change}</span>` : null}`;
  if (file.lines.length === 0) return html`<p>${head}</p>`;
  return html`
    <details class="file" open=${isOpen} onToggle=${({ target }) => setOpen(target.open)}>
      <summary>${head}<span class="numbers"><span class="added">+${file.added}</span> <span class="removed">−${file.removed}</span></span></summary>
      ${isOpen ? html`<${Hunks} file=${file} name=${`Edit ${edit.seq} of ${path}`} />` : null}
    </details>`;
}

/** The lines of an edit; the texts before and after as removed and added. */
function fileOf({ path, before, after, diff }) {
  if (diff !== undefined) {
    const text = diff.startsWith('diff --git ')
      ? diff
      : `diff --git a/x b/x\n${diff}`;
    const [file] = filesIn(text);
    if (file) return { ...file, path };
  }
  const lines = [...linesOf('removed', before), ...linesOf('added', after)];
  const count = (kind) => lines.filter((line) => line.kind === kind).length;
  return { path, lines, added: count('added'), removed: count('removed') };
}

function linesOf(kind, text = '') {
  return text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => ({ kind, text: line }));
}
