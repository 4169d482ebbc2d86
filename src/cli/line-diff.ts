/** Unchanged lines that are shown around a change. */
const around = 2;
/** Of a line that is longer, only the neighbourhood of the change is shown. */
const longest = 300;
const kept = 60;

/** What a change of a text in one place removes (-) and adds (+), by line. */
export function lineDiff(before: string, after: string): string[] {
  const old = linesOf(before);
  const now = linesOf(after);
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === now.at(-1 - tail))
    tail += 1;
  const end = old.length - tail;
  const [gone, come] = near(
    old.slice(head, end),
    now.slice(head, now.length - tail)
  );
  const same = (line: string) => `  ${begun(line)}`;
  return [
    ...old.slice(Math.max(0, head - around), head).map(same),
    ...gone.map((line) => `- ${line}`),
    ...come.map((line) => `+ ${line}`),
    ...old.slice(end, end + around).map(same)
  ];
}

/** A file on one line may be all that a program keeps. */
function near(old: string[], now: string[]): [string[], string[]] {
  if (![...old, ...now].some((line) => line.length > longest))
    return [old, now];
  const [before, after] = [old.join('\n'), now.join('\n')];
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail))
    tail += 1;
  const from = Math.max(0, head - kept);
  const cut = (text: string) => {
    const to = text.length - Math.max(0, tail - kept);
    const lead = from > 0 ? '…' : '';
    return `${lead}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
  };
  return [linesOf(cut(before)), linesOf(cut(after))];
}

function begun(line: string): string {
  return line.length > longest ? `${line.slice(0, kept)}…` : line;
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}
