/** What a terminal is told, as every one of the last thirty years knows it. */
export const hideCursor = '\u001b[?25l';
export const showCursor = '\u001b[?25h';
/** So that a line whose width we misjudge does not become two. */
export const wrapOff = '\u001b[?7l';
export const wrapOn = '\u001b[?7h';
export const clearBelow = '\u001b[J';
export const clearRight = '\u001b[K';
export function up(lines: number): string {
  return lines > 0 ? `\u001b[${lines}A` : '';
}

export function down(lines: number): string {
  return lines > 0 ? `\u001b[${lines}B` : '';
}

/** The screen that editors use: what was there before comes back. */
export const enterScreen = '\u001b[?1049h';
export const leaveScreen = '\u001b[?1049l';

/** To the beginning of a line, counted from 0. */
export function toLine(line: number): string {
  return `\u001b[${line + 1};1H`;
}
