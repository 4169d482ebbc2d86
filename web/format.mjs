/** `0.4s`, `12s`, `3m 5s`, `2h 4m`, `3d 2h`. */
export function duration(seconds) {
  if (seconds < 0) return '0s';
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  return wholeDuration(Math.round(seconds));
}

/** The same without tenths, for a time that is updated once a second. */
export function wholeDuration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  const hours = Math.floor(whole / 3600);
  if (hours < 48) return `${hours}h ${Math.floor((whole % 3600) / 60)}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** `just now`, `3 min ago`, `2 d ago`. */
export function ago(iso, now) {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (Number.isNaN(seconds)) return '';
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** US dollars; an unknown cost is not zero. */
export function dollars(cost) {
  if (cost === null || cost === undefined) return '';
  return cost === 0 ? '$0' : `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
}

export function counted(number, word) {
  return `${number.toLocaleString('en')} ${word}${number === 1 ? '' : 's'}`;
}

/** `0 B`, `12 KB`, `3.4 MB`. */
export function amount(bytes) {
  const units = ['B', 'KB', 'MB', 'GB'];
  let power = 0;
  let shown = bytes;
  while (Math.round(shown) >= 1024 && power < units.length - 1) {
    shown /= 1024;
    power += 1;
  }
  return `${shown.toFixed(power > 0 && shown < 10 ? 1 : 0)} ${units[power]}`;
}

/** `10:32`, or with its date when that is not today. */
export function clock(at, now = Date.now()) {
  const date = new Date(at);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const isToday = new Date(now).toDateString() === date.toDateString();
  return isToday ? time : `${dayOf(date)} ${time}`;
}

/** `2026-11-22 10:32:07`, in the time zone of the browser. */
export function moment(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return `${dayOf(date)} ${parts.map(two).join(':')}`;
}

/**
 * Rows of numbers and texts as RFC 4180 has them, with the mark by which
 * spreadsheets recognise UTF-8.
 */
export function csvOf(rows) {
  return `\ufeff${rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')}`;
}

/**
 * A spreadsheet runs a text that begins like a formula. Some drop blanks and
 * characters that are not seen (`DI`, `Cc`) first.
 */
const formula = /^[\s\p{DI}\p{Cc}]*[=+\-@\t\r\n＝＋－＠]/u;

/** Quoted, because some spreadsheets also separate cells at `;` or a tab. */
function cellOf(value) {
  if (typeof value !== 'string') return String(value ?? '');
  const text = formula.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}

function dayOf(date) {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function two(number) {
  return String(number).padStart(2, '0');
}
