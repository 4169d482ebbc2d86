import { InvalidArgumentError } from 'commander';

const second = 1000;
const unitsMs = new Map([
  ['s', second],
  ['m', 60 * second],
  ['h', 3600 * second],
  ['d', 86_400 * second],
  ['w', 7 * 86_400 * second]
]);

/** `30d`, `12h`, `2w` → milliseconds. */
export function parseAge(text: string): number {
  const [, number = '', unit = ''] =
    /^(\d{1,6}(?:\.\d+)?)(\w)$/.exec(text) ?? [];
  const unitMs = unitsMs.get(unit);
  if (unitMs !== undefined) return Number(number) * unitMs;
  throw new InvalidArgumentError(
    'Give a number and a unit: 30d, 12h, 2w, 90m or 60s.'
  );
}

const units = ['B', 'KB', 'MB', 'GB', 'TB'];

/** `2GB`, `500MB` → bytes; a KB has 1024. */
export function parseBytes(text: string): number {
  const [, number = '', unit = ''] =
    /^(\d{1,9}(?:\.\d+)?) ?([kmgt]?b)$/i.exec(text) ?? [];
  const power = units.indexOf(unit.toUpperCase());
  if (power >= 0) return Math.round(Number(number) * 1024 ** power);
  throw new InvalidArgumentError(
    'Give a number and a unit: 2GB, 500MB, 10KB or 0B.'
  );
}

/** `0 B`, `12 KB`, `3.4 MB`. */
export function amount(bytes: number): string {
  let power = 0;
  let shown = bytes;
  // 1023.7 would be shown as 1024.
  while (Math.round(shown) >= 1024 && power < units.length - 1) {
    shown /= 1024;
    power += 1;
  }
  const digits = power > 0 && shown < 10 ? 1 : 0;
  return `${shown.toFixed(digits)} ${units[power]}`;
}
