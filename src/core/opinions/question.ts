import type { ContextFile } from './context-files.ts';

/** The same prompt for every engine, so that their answers can be compared. */
export function questionPrompt(question: string, files: ContextFile[]): string {
  return [
    '# Question',
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
    const [, verdict] = verdictLine.exec(line) ?? [];
    if (verdict) return verdict;
  }
  return null;
}

const verdictLine =
  /^[\s>*_#`-]{0,20}verdict[\s*_`]{0,10}:[\s*_`]{0,10}(\S.*?)[\s*_`]{0,10}$/i;

function quoted({ path, text }: ContextFile): string {
  const longest = [...text.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const fence = '`'.repeat(Math.max(3, ...longest.map((length) => length + 1)));
  const end = text.endsWith('\n') ? '' : '\n';
  return `## ${path}\n\n${fence}\n${text}${end}${fence}`;
}
