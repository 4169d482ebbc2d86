import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';

const root = import.meta.dirname;
const isUpdate = process.env.UPDATE_GOLDEN === '1';

/**
 * Compares with what a file of `golden/` says. `UPDATE_GOLDEN=1` writes the
 * file instead: read the difference before you commit it.
 */
export function expectGolden(name: string, text: string): void {
  const file = join(root, `${name}.txt`);
  if (isUpdate) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
  expect(text, `${name}.txt; UPDATE_GOLDEN=1 writes it anew`).toBe(known);
}

/** Files of a set that no test has any more. */
export function leftOver(set: string, names: string[]): string[] {
  const folder = join(root, set);
  if (!existsSync(folder)) return [];
  const left = readdirSync(folder).filter(
    (file) => !names.includes(file.replace(/\.txt$/, ''))
  );
  if (!isUpdate) return left;
  for (const file of left) rmSync(join(folder, file));
  return [];
}
