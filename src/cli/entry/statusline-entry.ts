import './plain-schemas.ts';
import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { statusLine } from '../notify/status-line.ts';

try {
  const line = statusLine(isatty(0) ? '' : readFileSync(0, 'utf8'));
  if (line !== '') process.stdout.write(`${line}\n`);
} catch {
  // A client shows no line then, and no error in the middle of its screen.
}
