import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CliEngine, Engine, Reply } from '../../plugin.ts';
import { replaceFile } from '../state/atomic-file.ts';
import { ownReadFlags, readRegular } from '../state/regular-file.ts';
import { sizeOf } from '../state/text-file.ts';
import { TextLength } from '../state/text-length.ts';
import type { Outcome } from './run.ts';

/** A plain engine's stdout up to this size is trimmed into result.txt. */
const plainResultBytes = 1024 * 1024;

/** Writes the final text down where `result` finds it. */
export async function saveResult(
  engine: Engine | undefined,
  directory: string,
  reply: Reply
): Promise<Pick<Outcome, 'result_file' | 'result_chars'>> {
  const stdout = join(directory, 'stdout');
  if (isPlain(engine) && sizeOf(stdout) > plainResultBytes) {
    const result_chars = await new TextLength(stdout).read(true);
    return { result_file: 'stdout', result_chars };
  }
  // A plain engine's bytes are kept, also those that are no UTF-8.
  const result = isPlain(engine)
    ? trimmed(readRegular(stdout, ownReadFlags))
    : reply.text;
  if (!existsSync(join(directory, 'outcome.json')))
    replaceFile(join(directory, 'result.txt'), result);
  return { result_file: 'result.txt', result_chars: result.toString().length };
}

function trimmed(bytes: Buffer): Buffer {
  const isBlank = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13);
  const first = bytes.findIndex((byte) => !isBlank(byte));
  const last = bytes.findLastIndex((byte) => !isBlank(byte));
  return bytes.subarray(Math.max(first, 0), last + 1);
}

function isPlain(engine: Engine | undefined): engine is CliEngine {
  return engine?.kind === 'cli' && engine.read === undefined;
}
