import type { NumberedTurn } from '../../core/runs/turns/turn-page.ts';
import type { Turn } from '../../plugin/plugin.ts';
import { type Html, html } from '../html.ts';
import { type DiffHunk, parseDiff } from '../unified-diff.ts';
import { countsView, hunksView } from './diff-view.ts';
import { richText } from './rich-text.ts';

/** Longer texts of tools are closed at first. */
const openChars = 600;
const openLines = 8;
/** Longer texts are cut. */
const mostChars = 20_000;

type Step<Kind> = Extract<Turn, { kind: Kind }>;

/**
 * The turns in order. What belongs to a call, its edits and its result, stands
 * below it. A last text that is the answer is not repeated.
 */
export function turnList(turns: NumberedTurn[], answer: string): Html {
  const calls = new Map<string, Call>();
  const rows: (Turn | Call)[] = [];
  for (const turn of turns) {
    const call = 'id' in turn ? calls.get(turn.id ?? '') : undefined;
    if (turn.kind === 'tool') {
      const started: Call = { kind: 'call', tool: turn, edits: [] };
      rows.push(started);
      if (turn.id) calls.set(turn.id, started);
    } else if (call && turn.kind === 'edit') call.edits.push(turn);
    else if (call && turn.kind === 'result' && !call.result) call.result = turn;
    else rows.push(turn);
  }
  const last = rows.findLast(({ kind }) => kind === 'text');
  const isAnswer = (row: Turn | Call) =>
    row === last && row.kind === 'text' && row.text.trim() === answer.trim();
  return html`<ol class="turns">${rows.map((row) => rowOf(row, isAnswer(row)))}</ol>`;
}

interface Call {
  kind: 'call';
  tool: Step<'tool'>;
  edits: Step<'edit'>[];
  result?: Step<'result'>;
}

function rowOf(row: Turn | Call, isAnswer: boolean): Html {
  const { within } = row.kind === 'call' ? row.tool : row;
  const nested = within === undefined ? '' : ' nested';
  const [label, body] = isAnswer
    ? ['says', html`<p class="quiet">The <a href="#answer">answer</a>.</p>`]
    : partsOf(row);
  return html`<li class="turn ${row.kind}${nested}"><span class="kind">${label}</span><div class="body">${body}</div></li>`;
}

function partsOf(row: Turn | Call): [string, Html] {
  switch (row.kind) {
    case 'text':
      return ['says', html`${richText(shortened(row.text))}`];
    case 'thinking':
      return ['thinks', folded('thoughts', row.text)];
    case 'call':
      return [madeIn(row).length > 0 ? 'edits' : 'calls', callView(row)];
    case 'tool':
      return ['calls', callView({ kind: 'call', tool: row, edits: [] })];
    case 'result':
      return ['result', resultView(row)];
    case 'edit':
      return ['edits', editView(row)];
    case 'notice':
      return ['notice', html`<p class="words">${shortened(row.text)}</p>`];
  }
}

/** The edits say more than the result does. */
function callView(call: Call): Html {
  const { name, input } = call.tool;
  const edits = madeIn(call);
  const { result } = call;
  return html`<p class="call"><b>${name}</b> <code>${shortened(input)}</code></p>${edits.length === 0 && result && resultView(result)}${edits.map(editView)}`;
}

/** An error means that none of the edits was made. */
function madeIn({ edits, result }: Call): Step<'edit'>[] {
  return result?.isError ? [] : edits;
}

function resultView({ text, isError }: Step<'result'>): Html {
  if (text.trim() === '')
    return isError
      ? html`<p class="failed">failed</p>`
      : html`<p class="quiet">no output</p>`;
  return folded(isError ? 'failed' : 'result', text, isError === true);
}

function editView({ path, change, before, after, diff }: Step<'edit'>): Html {
  const hunks = hunksOf(before, after, diff);
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const count = (kind: string) => lines.filter((l) => l.kind === kind).length;
  const head = html`<span class="path">${path}</span>${change !== undefined && change !== 'changed' && html` <span class="tag">${change}</span>`}${countsView(count('added'), count('removed'))}`;
  if (hunks.length === 0) return html`<p>${head}</p>`;
  return html`<details${lines.length <= openLines && html` open`}><summary>${head}</summary>${hunksView(hunks)}</details>`;
}

/** What is known of an edit as lines; the texts before and after as a diff. */
function hunksOf(
  before: string | undefined,
  after: string | undefined,
  diff: string | undefined
): DiffHunk[] {
  if (diff !== undefined)
    return parseDiff(shortened(diff)).files.flatMap(({ hunks }) => hunks);
  const linesOf = (kind: 'added' | 'removed', text = '') =>
    text === ''
      ? []
      : shortened(text)
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => ({ kind, text: line }));
  const lines = [...linesOf('removed', before), ...linesOf('added', after)];
  return lines.length === 0 ? [] : [{ header: '', lines }];
}

function folded(name: string, text: string, isError = false): Html {
  const lines = text.trimEnd().split('\n').length;
  const isOpen = text.length <= openChars && lines <= openLines;
  const count = lines === 1 ? '1 line' : `${lines} lines`;
  return html`<details class="${isError ? 'failed' : 'folded'}"${isOpen && html` open`}><summary>${name}, ${count}</summary><pre>${shortened(text.trimEnd())}</pre></details>`;
}

function shortened(text: string): string {
  if (text.length <= mostChars) return text;
  const left = text.length - mostChars;
  return `${text.slice(0, mostChars)}\n… ${left} more characters are left out.`;
}
