import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** The draws in a file, oldest first; none without the file. */
export function readDraws(file) {
  if (!existsSync(file)) return [];
  const draws = JSON.parse(readFileSync(file, 'utf8'));
  if (Array.isArray(draws)) return draws;
  throw new Error(`${file} is no list of draws: name another file`);
}

/** Writes a draw after the others. One with its seed is replaced. */
export function writeDraw(file, draw) {
  const others = readDraws(file).filter(({ seed }) => seed !== draw.seed);
  writeFileSync(file, `${JSON.stringify([...others, draw], null, 2)}\n`);
}
