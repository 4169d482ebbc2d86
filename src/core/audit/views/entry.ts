import type { FileChange } from '../../changes/ports.ts';
import { describeAccess } from '../../runs/run.ts';
import { readEnds } from '../../state/files/text-file.ts';
import { visibleText } from '../../text.ts';
import type {
  FinishedRecord,
  JournalText,
  SpawnedRecord
} from '../journal/journal-record.ts';
import { longestSecret, type Redact } from '../redaction/redact.ts';

/** One agent in the log: its spawn and, if it has ended, its end. */
export interface Entry {
  spawned: SpawnedRecord;
  finished?: FinishedRecord;
  /** True while the agent waits for a free slot. */
  queued?: boolean;
  /** True while it waits for an answer. */
  asking?: boolean;
  /** When the agent's folder with its prompt and answer was removed. */
  cleanedAt?: string;
}

/** A text above twice this length is cut to this length at each end. */
const endChars = 25_000;
const titleChars = 80;

/**
 * Renders an agent's entry in IAC.md. Untrusted text cannot forge, split or
 * break an entry: it is either inside a fence that is longer than any run of
 * backticks in it, or on one line without characters that are special in
 * markdown. Control characters in a fence are made visible.
 * @param record the directory of the record
 * @param pages the folder of the agents' pages, relative to the view
 */
export async function renderEntry(
  entry: Entry,
  record: string,
  redact: Redact,
  pages = 'agents'
): Promise<string> {
  const { spawned, finished } = entry;
  const load = (text: JournalText) => textOf(text, entry, record, redact);
  const fenced = async (title: string, text: JournalText) =>
    block(title, text.chars, await load(text));
  const parts = [
    `### 🤖 ${markdownLine(spawned.task, titleChars) || '(no words)'}`,
    `${finished ? endOf(finished) : beginOf(entry)} | ${factsOf(entry, pages)}`,
    '',
    await fenced('📥 Input', spawned.prompt)
  ];
  if (finished) {
    const { result, error } = finished;
    if (result.chars > 0 || !error)
      parts.push(await fenced('📤 Output', result));
    if (error && error !== markdownLine(error, errorChars))
      parts.push(errorBlock(error, entry));
    if (finished.files_changed) parts.push(filesBlock(finished));
  }
  return `${parts.join('\n')}\n---\n`;
}

const errorChars = 300;

function beginOf(entry: Entry): string {
  const status = activeStatus(entry);
  return `- [ ] ⏳ **${status.charAt(0).toUpperCase()}${status.slice(1)}**`;
}

/** The status of an agent that has not ended. */
export function activeStatus({ queued, asking }: Entry): string {
  return queued ? 'queued' : asking ? 'asking' : 'running';
}

function endOf(finished: FinishedRecord): string {
  const seconds = `${(finished.duration_ms / 1000).toFixed(1)}s`;
  const cost =
    finished.cost_usd === null ? '' : `, $${finished.cost_usd.toFixed(4)}`;
  const error = markdownLine(finished.error ?? '', errorChars);
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
    `${markdownLine(spawned.label, 40)} (${markdownLine(model, 80)}) [${spawned.kind.toUpperCase()}]`,
    utc(spawned.created_at),
    `Tools: ${spawned.tools === null ? 'none' : markdownLine(spawned.tools, 120)}`
  ];
  // The label of a template is arbitrary, so the program is shown too.
  if (spawned.template !== undefined)
    facts.push(`Program: ${markdownLine(spawned.command ?? '', 120)}`);
  if (spawned.kind === 'cli')
    facts.push(
      `Access: ${describeAccess(markdownLine(spawned.access, 20), markdownLine(spawned.enforcement, 20))}`
    );
  if (spawned.continues)
    facts.push(`Continues: \`#${markdownLine(spawned.continues, 20)}\``);
  if (spawned.squad) {
    const { squadId, roleId } = spawned.squad;
    facts.push(
      `Squad: \`${markdownLine(squadId, 60)}\` (${markdownLine(roleId, 60)})`
    );
  }
  if (spawned.parent)
    facts.push(`Spawned by: \`#${markdownLine(spawned.parent, 20)}\``);
  const client = markdownLine(spawned.client ?? '', 80);
  if (client !== '') facts.push(`from: ${client}`);
  const files = finished ? filesSummary(finished) : '';
  if (files !== '') facts.push(`files: ${files}`);
  if (finished && !cleanedAt)
    facts.push(`[Page](${pages}/${spawned.agent_id}.md)`);
  return facts.join(' | ');
}

function block(title: string, chars: number, content: string): string {
  const text = visibleText(content);
  const fence = fenceFor([text]);
  return details(`${title} (${chars} chars)`, [fence, text, fence]);
}

function details(summary: string, lines: string[]): string {
  return `<details>\n<summary>${summary}</summary>\n\n${lines.join('\n')}\n\n</details>\n`;
}

/** A fence that is longer than any run of backticks in the texts. */
export function fenceFor(texts: string[]): string {
  // The sum, because a run may span several texts.
  const longest = texts.reduce((sum, text) => sum + longestTicks(text), 0);
  return '`'.repeat(Math.max(3, longest + 1));
}

function filesBlock(finished: FinishedRecord): string {
  const { files_changed: files = [], files_changed_total: total } = finished;
  const count = Math.max(total ?? 0, files.length);
  const summary = count === 1 ? '1 file' : `${count} files`;
  return details(`📝 Changes (${summary})`, fileLines(files, count));
}

/** `2 (+3 −1, shared)`: the changed files of an agent; '' without changes. */
export function filesSummary(finished: FinishedRecord): string {
  const { files_changed: files = [], files_changed_total: total } = finished;
  const count = Math.max(total ?? 0, files.length);
  if (count === 0) return '';
  const facts: string[] = [];
  // The journal has the lines of the first files only.
  if (count === files.length) facts.push(linesOf(files));
  if (files.some(({ shared }) => shared)) facts.push('shared');
  return facts.length > 0 ? `${count} (${facts.join(', ')})` : `${count}`;
}

function linesOf(files: FileChange[]): string {
  if (files.every(({ added }) => added === null)) return 'binary';
  const sum = (side: 'added' | 'removed') =>
    files.reduce((lines, file) => lines + (file[side] ?? 0), 0);
  return `+${sum('added')} −${sum('removed')}`;
}

/** A list of changed files, and the number of files that it omits. */
export function fileLines(files: FileChange[], total: number): string[] {
  const rows = files.map(({ path, added, removed, shared }) => {
    const lines = added === null ? '(binary)' : `+${added} −${removed}`;
    return `- \`${markdownLine(path, 400)}\` ${lines}${shared ? ' (shared)' : ''}`;
  });
  const more = total - rows.length;
  return more > 0 ? [...rows, `- … and ${more} more`] : rows;
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
    // Reads more than is shown, to recognize secrets that span a cut.
    const reach = endChars + longestSecret;
    const file = `${record}/${path}`;
    const ends = await readEnds(file, reach, reach, text.chars);
    const { head, tail, totalChars } = ends;
    if (totalChars <= 2 * endChars) return redact(head + tail);
    const whole = totalChars <= 2 * reach ? head + tail : undefined;
    const notice = (left: number) =>
      `… ${left} characters left out; the whole text is in ${path} …`;
    return shortened(whole ?? head, whole ?? tail, totalChars, notice, redact);
  } catch {
    const when = cleanedAt ? `: it was cleaned away, ${utc(cleanedAt)}` : '';
    return `(the text was in ${path}, which is gone${when})`;
  }
}

function shortened(
  head: string,
  tail: string,
  totalChars: number,
  notice: (left: number) => string,
  redact: Redact
): string {
  const headEnd = cutsPair(head, endChars) ? endChars - 1 : endChars;
  const start = tail.length - endChars;
  const tailStart = cutsPair(tail, start) ? start + 1 : start;
  const left = totalChars - headEnd - (tail.length - tailStart);
  return `${redact(head, 0, headEnd)}\n\n${notice(left)}\n\n${redact(tail, tailStart)}`;
}

/** Whether an index is between the two halves of a surrogate pair. */
export function cutsPair(text: string, index: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(
    text.slice(index - 1, index + 1)
  );
}

/**
 * Makes text safe for one line in a heading, a table cell or a list item.
 * Whitespace, control and format characters become single spaces, and special
 * characters of markdown become look-alikes. Links and images become text: a
 * viewer would load an image, and a link could claim to be one of ours.
 */
export function markdownLine(text: string, maximumChars: number): string {
  const flat = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  const characters = [...flat];
  const cut =
    characters.length > maximumChars
      ? `${characters.slice(0, maximumChars - 1).join('')}…`
      : flat;
  return cut
    .replace(/[`<>|]/g, (mark) => lookalikes[mark] ?? mark)
    .replaceAll('](', '] (');
}

/** Characters that could end a code span, open a tag or split a cell. */
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
  const runs = text.match(/`+/g) ?? [];
  return runs.reduce((longest, { length }) => Math.max(longest, length), 0);
}
