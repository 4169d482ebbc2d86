/** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.floor(whole / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The same for narrow columns: `0.4s`, `12s`, `3m 5s`, `2h 4m`. */
export function shortDuration(seconds: number): string {
  return duration(seconds)
    .replace(' min', 'm')
    .replace(/ ([sh])/g, '$1');
}

/** The age on a terminal; the time in a pipe, which may be read later. */
export function when(
  iso: string,
  { isTTY }: { isTTY?: boolean } = process.stdout
): string {
  return isTTY ? ago(iso) : iso;
}

/** `just now`, `3 min ago`, `2 d ago`. */
function ago(iso: string): string {
  const seconds = (Date.now() - Date.parse(iso)) / 1000;
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** `1 agent`, `3 agents`. */
export function counted(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

export function dollars(cost: number | null): string {
  if (cost === null) return '';
  return cost === 0 ? '$0' : `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
}

/** `0 B`, `12 KB`, `3.4 MB`. */
export function amount(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let power = 0;
  let shown = bytes;
  // 1023.7 would be rounded to 1024.
  while (Math.round(shown) >= 1024 && power < units.length - 1) {
    shown /= 1024;
    power += 1;
  }
  const digits = power > 0 && shown < 10 ? 1 : 0;
  return `${shown.toFixed(digits)} ${units[power]}`;
}

/** Wide by East Asian Width. A flag is two letters of one column each. */
const wide =
  /(?![\u{1f1e6}-\u{1f1ff}])[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\p{Emoji_Presentation}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** The columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text)
    if (!/\p{Mark}/u.test(character)) width += wide.test(character) ? 2 : 1;
  return width;
}

/** The text, cut to a number of columns. */
export function shorten(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let shown = '';
  let width = 0;
  for (const character of text) {
    width += widthOf(character);
    if (width > columns - 1) break;
    shown += character;
  }
  return `${shown}…`;
}

const printable = /^[\u0020-\u007e]*$/;
const tabWidth = 4;

/** Wraps a text to a number of columns, at blanks if possible. */
export function wrappedLines(text: string, columns: number): string[] {
  return text
    .replaceAll('\t', ' '.repeat(tabWidth))
    .split('\n')
    .flatMap((line) => wrapped(line, Math.max(1, columns)));
}

function wrapped(line: string, columns: number): string[] {
  if (printable.test(line) && line.length <= columns) return [line];
  const lines: string[] = [];
  let rest = line;
  while (rest !== '') {
    const end = endOfFirst(rest, columns);
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).replace(/^ /, '');
  }
  return lines.length > 0 ? lines : [''];
}

/** The end of the first line: after a blank, or within a long word. */
function endOfFirst(text: string, columns: number): number {
  let width = 0;
  let end = 0;
  let blank = 0;
  for (const character of text) {
    width += widthOf(character);
    if (width > columns && end > 0)
      return character === ' ' || blank === 0 ? end : blank;
    end += character.length;
    if (character === ' ') blank = end;
  }
  return end;
}

/** Quotes a word for a POSIX shell, also inside `"$(…)"`. */
export function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
