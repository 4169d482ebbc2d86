import { readEnds } from '../state/text-file.ts';
import { visibleText } from '../visible-text.ts';
import type { FinishedRecord, JournalText, SpawnedRecord } from './journal.ts';
import { longestSecret, type Redact } from './redact.ts';

/** One agent in the log: how it began and, when it has, how it ended. */
export interface Entry {
  spawned: SpawnedRecord;
  finished?: FinishedRecord;
  /** Not at work yet: it waits for a free place. */
  queued?: boolean;
  /** When its folder was removed, with all texts that are not in the log. */
  cleanedAt?: string;
}

/** Above twice this many characters a text is cut to its two ends. */
const endChars = 25_000;
const titleChars = 80;

/**
 * An agent's entry in IAC.md. Texts from outside stand either inside a fence
 * longer than any run of backticks in them, or on one line with everything
 * that could mean something to markdown made harmless, so none can forge,
 * split or break an entry. Controls in a fence are visible and steer nothing.
 */
export async function renderEntry(
  entry: Entry,
  record: string,
  redact: Redact,
  pages = 'agents'
): Promise<string> {
  const { spawned, finished } = entry;
  const load = (text: JournalText) => textOf(text, entry, record, redact);
  const parts = [
    `### 🤖 ${oneLine(spawned.task, titleChars) || '(no words)'}`,
    `${finished ? endOf(finished) : beginOf(entry)} | ${factsOf(entry, pages)}`,
    '',
    block('📥 Input', spawned.prompt.chars, await load(spawned.prompt))
  ];
  if (finished) {
    const { result, error } = finished;
    if (result.chars > 0 || !error)
      parts.push(block('📤 Output', result.chars, await load(result)));
    if (error && error !== oneLine(error, errorChars))
      parts.push(errorBlock(error, entry));
  }
  return `${parts.join('\n')}\n---\n`;
}

const errorChars = 300;

function beginOf({ queued }: Entry): string {
  return `- [ ] ⏳ **${queued ? 'Queued' : 'Running'}**`;
}

function endOf(finished: FinishedRecord): string {
  const seconds = `${(finished.duration_ms / 1000).toFixed(1)}s`;
  const cost =
    finished.cost_usd === null ? '' : `, $${finished.cost_usd.toFixed(4)}`;
  const error = oneLine(finished.error ?? '', errorChars);
  const because = causeOf(error);
  switch (finished.status) {
    case 'completed':
      return `- [x] ✅ **Done** (${seconds}${cost})`;
    case 'failed':
      return `- [x] ❌ **Failed**${because} (${seconds}${cost})`;
    case 'timeout':
      return `- [x] ⌛ **Timed out**${because} (${seconds}${cost})`;
    case 'canceled':
      return `- [x] ⏹ **Canceled**${causeOf(error.replace(/^Canceled(: | |$)/, ''))} (${seconds}${cost})`;
    case 'interrupted':
      return `- [x] ⚠️ **Interrupted**${because} (${seconds}${cost})`;
  }
}

function causeOf(error: string): string {
  return error === '' ? '' : `: ${error}`;
}

function factsOf(
  { spawned, finished, cleanedAt }: Entry,
  pages: string
): string {
  const model = finished?.model ?? spawned.model ?? 'default';
  const facts = [
    `\`#${spawned.agent_id}\``,
    `${oneLine(spawned.label, 40)} (${oneLine(model, 80)}) [${spawned.kind.toUpperCase()}]`,
    utc(spawned.created_at),
    `Tools: ${spawned.tools === null ? 'none' : oneLine(spawned.tools, 120)}`
  ];
  if (spawned.kind === 'cli')
    facts.push(
      `Access: ${oneLine(spawned.access, 20)} (${oneLine(spawned.enforcement, 20)})`
    );
  if (spawned.continues)
    facts.push(`Continues: \`#${oneLine(spawned.continues, 20)}\``);
  if (spawned.squad) {
    const { squadId, roleId } = spawned.squad;
    facts.push(`Squad: \`${oneLine(squadId, 60)}\` (${oneLine(roleId, 60)})`);
  }
  if (spawned.parent)
    facts.push(`Spawned by: \`#${oneLine(spawned.parent, 20)}\``);
  if (finished && !cleanedAt)
    facts.push(`[Page](${pages}/${spawned.agent_id}.md)`);
  return facts.join(' | ');
}

function block(title: string, chars: number, words: string): string {
  const text = visibleText(words);
  const fence = fenceFor([text]);
  return [
    '<details>',
    `<summary>${title} (${chars} chars)</summary>`,
    '',
    fence,
    text,
    fence,
    '',
    '</details>',
    ''
  ].join('\n');
}

/** A fence that is longer than any run of backticks in the texts. */
export function fenceFor(texts: string[]): string {
  // A run may reach from one text into the next.
  const longest = texts.reduce((sum, text) => sum + longestTicks(text), 0);
  return '`'.repeat(Math.max(3, longest + 1));
}

function errorBlock(error: string, { finished, cleanedAt }: Entry): string {
  const whole = finished?.whole_error;
  if (!whole) return block('❗ Error', error.length, error);
  const where = cleanedAt
    ? `was in ${whole.path}, which was cleaned away, ${utc(cleanedAt)}`
    : `is in ${whole.path}`;
  const notice = `… cut here; the whole error ${where} …`;
  return block('❗ Error', whole.chars, `${error}\n\n${notice}`);
}

async function textOf(
  text: JournalText,
  { cleanedAt }: Entry,
  record: string,
  redact: Redact
): Promise<string> {
  if (text.text !== undefined) return text.text;
  const path = text.path ?? '';
  try {
    // More than is shown, so that a secret across a cut is known as one.
    const reach = endChars + longestSecret;
    const file = `${record}/${path}`;
    const ends = await readEnds(file, reach, reach, text.chars);
    const { head, tail, totalChars } = ends;
    if (totalChars <= 2 * endChars) return redact(head + tail);
    const whole = totalChars <= 2 * reach;
    return shortened(
      whole ? head + tail : head,
      whole ? head + tail : tail,
      totalChars,
      path,
      redact
    );
  } catch {
    const when = cleanedAt ? `: it was cleaned away, ${utc(cleanedAt)}` : '';
    return `(the text was in ${path}, which is gone${when})`;
  }
}

function shortened(
  head: string,
  tail: string,
  totalChars: number,
  path: string,
  redact: Redact
): string {
  const headEnd = cutsPair(head, endChars) ? endChars - 1 : endChars;
  const start = tail.length - endChars;
  const tailStart = cutsPair(tail, start) ? start + 1 : start;
  const left = totalChars - headEnd - (tail.length - tailStart);
  const notice = `… ${left} characters left out; the whole text is in ${path} …`;
  return `${redact(head, 0, headEnd)}\n\n${notice}\n\n${redact(tail, tailStart)}`;
}

/** True between the two halves of one character. */
function cutsPair(text: string, index: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(
    text.slice(index - 1, index + 1)
  );
}

/**
 * A text on one line, harmless in a heading, a table cell or a list item:
 * control, format and direction characters go, marks that mean something get look-alikes.
 */
export function oneLine(text: string, maximumChars: number): string {
  const flat = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  const characters = [...flat];
  const cut =
    characters.length > maximumChars
      ? `${characters.slice(0, maximumChars - 1).join('')}…`
      : flat;
  return cut.replace(/[`<>|]/g, (mark) => lookalikes[mark] ?? mark);
}

/** What could end a code span, open a comment or split a cell. */
const lookalikes: Record<string, string> = {
  '`': "'",
  '<': '‹',
  '>': '›',
  '|': '¦'
};

export function utc(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

function longestTicks(text: string): number {
  let longest = 0;
  for (const run of text.match(/`+/g) ?? [])
    longest = Math.max(longest, run.length);
  return longest;
}
