/** Controls, and marks that turn the direction of text. */
const unruly =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g;

const colours = /\u001b\[[0-9;]*m/g;

/** A text from outside on one line, harmless on a terminal. */
export function oneLine(text: string): string {
  return text.replace(colours, '').replace(unruly, ' ').trim();
}

/** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.floor(whole / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The same where there is little room: `0.4s`, `12s`, `3m 5s`, `2h 4m`. */
export function shortDuration(seconds: number): string {
  return duration(seconds)
    .replace(' min', 'm')
    .replace(/ ([sh])/g, '$1');
}

/** As long ago on a terminal; in a pipe, which may be read later, as it is. */
export function when(
  iso: string,
  { isTTY }: { isTTY?: boolean } = process.stdout
): string {
  return isTTY ? ago(iso) : iso;
}

/** `1 agent`, `3 agents`. */
export function counted(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

/** `just now`, `3 min ago`, `2 d ago`. */
function ago(iso: string, now = Date.now()): string {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

export function dollars(cost: number | null): string {
  if (cost === null) return '';
  return cost === 0 ? '$0' : `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Columns a text takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text)
    if (!/\p{Mark}/u.test(character)) width += wide.test(character) ? 2 : 1;
  return width;
}

/** The text in at most so many columns. */
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
