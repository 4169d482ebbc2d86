import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { filesIn } from '../diff.mjs';
import { counted } from '../format.mjs';
import { html } from '../html.mjs';
import { blocksOf, Markdown } from '../markdown.mjs';
import { get, perform } from '../session.mjs';
import { Hunks } from './changes.mjs';
import { useBusy } from './load.mjs';

/** Turns that are kept while an agent goes on. */
const mostTurns = 60;

const rowsAtOnce = 10;

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
  const most = useRef(mostTurns);
  const known = useRef({ last: undefined, isBusy: false, isStale: false });
  const load = async (query, join) => {
    const page = await get(`/web/agents/${id}/turns${query}`);
    setFound((before) => join(page, before));
  };
  const loadNewer = async () => {
    const { current: now } = known;
    now.isStale = now.isBusy;
    if (now.isBusy) return;
    now.isBusy = true;
    const query = now.last === undefined ? '' : `?from=${now.last}`;
    await load(query, (page, before) =>
      newer(page, before, most.current)
    ).catch(() => setFound((before) => before ?? { turns: null }));
    now.isBusy = false;
    // It has written more while the answer was under way.
    if (now.isStale) void loadNewer();
  };
  useEffect(() => void loadNewer(), [id, sizes]);
  known.current.last = found?.turns?.at(-1)?.seq;
  const rows = useMemo(() => grouped(found?.turns ?? []), [found]);
  const count = useGrowing(rows.length);
  const [isBusy, run] = useBusy();
  if (found === undefined) return null;
  if (found.turns === null) return fallback;
  if (found.turns.length === 0) return null;
  const [first] = found.turns;
  const earlier = () => perform(() => load(`?before=${first.seq}`, older));
  const older = ({ turns, more }, before) => {
    const [{ seq: start }] = before.turns;
    // Turns that were asked for twice are there already.
    const all = [...turns.filter(({ seq }) => seq < start), ...before.turns];
    most.current = all.length;
    return { turns: all, more };
  };
  return html`
    <section aria-labelledby="turns">
      <h2 id="turns">Transcript</h2>
      ${found.more ? html`<button class="button small" disabled=${isBusy} onClick=${() => run(earlier)}>Earlier</button>` : null}
      <ol class="turns">
        ${rows.slice(-count).map((row) => html`<${Row} key=${row.turn.seq} ...${row} isAnswer=${isAnswer(row.turn, answer)} />`)}
      </ol>
    </section>`;
}

/** Rows are added few at a time, so that the page answers meanwhile. */
function useGrowing(total) {
  const [count, setCount] = useState(rowsAtOnce);
  useEffect(() => {
    if (count >= total) return undefined;
    const timer = setTimeout(() => setCount(count + rowsAtOnce));
    return () => clearTimeout(timer);
  }, [count, total]);
  return count;
}

/** Replaces the turns that the page repeats: the last one may have grown. */
function newer({ turns, more }, before, most) {
  if (turns === null || !before?.turns) return { turns, more };
  const start = turns[0]?.seq ?? Number.POSITIVE_INFINITY;
  // A full page leaves a gap.
  if (more) return { turns, more };
  const all = [...before.turns.filter(({ seq }) => seq < start), ...turns];
  return { turns: all.slice(-most), more: before.more || all.length > most };
}

/** Puts edits and the result of a call below it. */
function grouped(turns) {
  const calls = new Map();
  const rows = [];
  for (const turn of turns) {
    const call = turn.id === undefined ? undefined : calls.get(turn.id);
    if (turn.kind === 'tool') {
      const row = { turn, edits: [], result: undefined };
      rows.push(row);
      if (turn.id !== undefined) calls.set(turn.id, row);
    } else if (call && turn.kind === 'edit') call.edits.push(turn);
    else if (call && turn.kind === 'result' && !call.result) call.result = turn;
    else rows.push({ turn, edits: [], result: undefined });
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

/** Drawn again only if its turns have changed: Markdown takes its time. */
function Row({ turn, edits, result, isAnswer }) {
  return useMemo(
    () => rowOf(turn, edits, result, isAnswer),
    [turn, edits.length, result, isAnswer]
  );
}

function rowOf(turn, edits, result, isAnswer) {
  // A call that failed has made none of its edits.
  const made = result?.isError ? [] : edits;
  const label = made.length > 0 ? 'edits' : labels[turn.kind];
  return html`<li class=${`turn is-${turn.kind} ${turn.within === undefined ? '' : 'is-nested'}`}>
    <span class="turn-kind">${label}</span>
    <div class="turn-body"><${Body} turn=${turn} edits=${made} result=${result} isAnswer=${isAnswer} /></div>
  </li>`;
}

function Body({ turn, edits, result, isAnswer }) {
  switch (turn.kind) {
    case 'text':
      return isAnswer
        ? html`<p class="note">The answer, below.</p>`
        : html`<${Markdown} blocks=${blocksOf(turn.text)} />`;
    case 'thinking':
      return html`<${Folded} name="thoughts" text=${turn.text} isOpen=${false} />`;
    case 'tool':
      return html`
        <p class="turn-call"><b>${turn.name}</b> <code>${turn.input}</code></p>
        ${edits.length === 0 && result ? html`<${Result} of=${result} />` : null}
        ${edits.map((edit) => html`<${Edit} key=${edit.seq} edit=${edit} />`)}`;
    case 'result':
      return html`<${Result} of=${turn} />`;
    case 'edit':
      return html`<${Edit} edit=${turn} />`;
    default:
      return html`<p>${turn.text}</p>`;
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
