import type { Turn } from '../../../plugin/plugin.ts';
import type { TurnPage } from '../../runs/turns/turn-page.ts';
import { visibleText } from '../../text.ts';
import { longestSecret, type Redact } from '../redaction/redact.ts';

/** The part of a transcript that is on a page of an agent: its end. */
export const transcriptRange = { limit: 200, bytesAtMost: 16 * 1024 * 1024 };

/** Longer texts of a step are cut. */
const stepChars = 2000;

/**
 * The last steps of an agent as plain text, for a fence, without secrets. An
 * answer that is elsewhere on the page is not repeated.
 */
export function transcriptOf(
  { turns, more }: TurnPage,
  redact: Redact,
  answer: string | undefined
): { title: string; text: string } {
  const clean = (text: string) => shortened(text, redact);
  const last = turns.findLast(({ kind }) => kind === 'text');
  const steps = turns.map((turn) =>
    turn === last && turn.kind === 'text' && turn.text.trim() === answer?.trim()
      ? 'says the answer'
      : stepOf(turn, clean)
  );
  const count = steps.length === 1 ? '1 step' : `${steps.length} steps`;
  return {
    title: more ? `Transcript (the last ${count})` : `Transcript (${count})`,
    text: [...(more ? ['… earlier steps are left out …'] : []), ...steps].join(
      '\n\n'
    )
  };
}

type Clean = (text: string) => string;

function stepOf(turn: Turn, clean: Clean): string {
  const step = wordsOf(turn, clean);
  return turn.within === undefined ? step : indented(`(nested) ${step}`);
}

function wordsOf(turn: Turn, clean: Clean): string {
  switch (turn.kind) {
    case 'text':
      return titled('says', clean(turn.text));
    case 'thinking':
      return titled('thinks', clean(turn.text));
    case 'tool':
      return titled(`calls ${oneLine(clean(turn.name))}`, clean(turn.input));
    case 'result': {
      const title = turn.isError ? 'failed' : 'result';
      const said = clean(turn.text.trimEnd());
      return said === '' ? title : titled(title, said);
    }
    case 'edit':
      return editOf(turn, clean);
    case 'notice':
      return titled('notice', clean(turn.text));
  }
}

function editOf(edit: Extract<Turn, { kind: 'edit' }>, clean: Clean): string {
  const { path, change, before, after, diff } = edit;
  const about = change === undefined ? '' : ` (${change})`;
  const title = `edits ${oneLine(clean(path))}${about}`;
  const lines =
    diff === undefined
      ? [
          ...signed('-', clean(before ?? '')),
          ...signed('+', clean(after ?? ''))
        ]
      : clean(diff.trim()).split('\n');
  return [title, ...lines.map((line) => `  ${line}`)].join('\n');
}

function signed(sign: string, text: string): string[] {
  const lines = text.replace(/\n$/, '').split('\n');
  return text === '' ? [] : lines.map((line) => `${sign}${line}`);
}

/** A text of one line is on the line of its title. */
function titled(title: string, text: string): string {
  return text.includes('\n')
    ? `${title}:\n${indented(text)}`
    : `${title}: ${text}`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Reads more than is shown, to recognize secrets that span the cut. */
function shortened(text: string, redact: Redact): string {
  if (text.length <= stepChars) return visibleText(redact(text));
  const head = redact(text.slice(0, stepChars + longestSecret), 0, stepChars);
  const whole = head.replace(/[\ud800-\udbff]$/, '');
  const left = text.length - stepChars;
  return `${visibleText(whole)}\n… ${left} characters left out …`;
}
