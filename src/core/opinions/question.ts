import type { ContextFile } from './context-files.ts';

/** The same prompt for every engine, so that their answers can be compared. */
export function questionPrompt(question: string, files: ContextFile[]): string {
  return [
    // First, as the first line names the agent in `list` and in the log.
    question,
    ...(files.length === 0 ? [] : ['# Context', ...files.map(quoted)]),
    '# How to answer',
    [
      'Form your own judgement; others are asked the same. Change nothing.',
      'Give your reasons, say how sure you are, and name what would change',
      'your mind. End with one line of this form and nothing after it:'
    ].join('\n'),
    'VERDICT: <your answer in one sentence>'
  ].join('\n\n');
}

/** The last verdict line of an answer, without its markup. */
export function verdictOf(answer: string): string | null {
  const lines = answer.split('\n').reverse();
  for (const line of lines) {
    const [, before = '', after = '', words] = verdictLine.exec(line) ?? [];
    if (words) return shortened(unmarked(words.trim(), before + after));
  }
  return null;
}

const verdictLine =
  /^([\s>*_#`-]{0,20}verdict[*_`]{0,4})\s{0,10}[:：]([*_`]{0,4})\s*(\S.*)$/is;

/** A verdict is a line; what is longer stays in the answer. */
const verdictChars = 1000;

function shortened(verdict: string): string {
  return verdict.length > verdictChars
    ? `${verdict.slice(0, verdictChars - 1)}…`
    : verdict;
}

/** Without the end of markup that began before the words, or with them. */
function unmarked(words: string, before: string): string {
  const [mark] = /([*_`])\1{0,3}$/.exec(words) ?? [];
  if (mark === undefined || mark === words) return words;
  const inner = words.slice(0, -mark.length);
  // Begun as often as ended: an odd number of parts.
  if (before.split(mark).length % 2 === 0)
    return unmarked(inner.trimEnd(), before.replace(mark, ''));
  const own = inner.slice(mark.length);
  return inner.startsWith(mark) && !/_/.test(mark) && !own.includes(mark)
    ? own
    : words;
}

function quoted({ path, text }: ContextFile): string {
  const longest = [...text.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const fence = '`'.repeat(Math.max(3, ...longest.map((length) => length + 1)));
  const end = text.endsWith('\n') ? '' : '\n';
  return `## ${path}\n\n${fence}\n${text}${end}${fence}`;
}
