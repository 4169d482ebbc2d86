import picocolors from 'picocolors';
import type { WorkerStatus } from '../../core/orchestrator/queue/records.ts';
import type { Outcome, RunRecord, RunStatus } from '../../core/runs/run.ts';
import { ownFile } from '../../core/runs/run-files.ts';
import type { RunStore } from '../../core/runs/run-store.ts';
import { streamRegular } from '../../core/state/files/regular-file.ts';
import { visibleJson, visibleText } from '../../core/text.ts';

type Colors = ReturnType<typeof picocolors.createColors>;

/** Prints one line of diagnostics on stderr. */
export function report(message: string): void {
  process.stderr.write(`troupe: ${visibleText(message)}\n`);
}

let isPrinted = false;

/** Whether any part of a result was printed. */
export function hasPrinted(): boolean {
  return isPrinted;
}

/** Prints a result on stdout; resolves when it has been written. */
export function print(text: string | Buffer): Promise<void> {
  isPrinted = true;
  return new Promise((resolve) => {
    process.stdout.write(text, () => resolve());
  });
}

/**
 * Prints an untrusted text. Control characters are made visible on a terminal
 * and left unchanged in a pipe.
 */
export function printWords(text: string): Promise<void> {
  return print(process.stdout.isTTY ? visibleText(text) : text);
}

/** Prints a JSON document of src/cli/json/. */
export function printJson<Document>(value: Document): Promise<void> {
  return print(`${visibleJson(value, 2)}\n`);
}

/** Prints the answer of an agent from the file in its folder. */
export async function printAnswer(
  store: Pick<RunStore, 'directoryOf'>,
  { agent_id: id }: Pick<RunRecord, 'agent_id'>,
  { result_file: name }: Pick<Outcome, 'result_file'>,
  offset = 0
): Promise<void> {
  const path = ownFile(store.directoryOf(id), name);
  if (path === undefined) report(`The file ${name} of agent ${id} is gone.`);
  else await printFile(path, offset);
}

/**
 * Prints a text file from a character on, in bounded memory. Control characters
 * are made visible on a terminal and left unchanged in a pipe. A last line
 * without a newline gets one.
 */
async function printFile(path: string, offset: number): Promise<void> {
  // The last part is held back, so that the newline is not a separate write.
  let last: Buffer | undefined;
  const parts = process.stdout.isTTY ? visibleParts : partsOf;
  for await (const part of parts(path, offset)) {
    if (part.length === 0) continue;
    if (last) await print(last);
    last = part;
  }
  if (!last) return;
  const isWhole = last.at(-1) === newline[0];
  await print(isWhole ? last : Buffer.concat([last, newline]));
}

const newline = Buffer.from('\n');

async function* visibleParts(
  path: string,
  offset: number
): AsyncGenerator<Buffer> {
  let held = '';
  for await (const text of textsOf(path, offset)) {
    const all = held + text;
    // A newline may follow at the beginning of the next part.
    held = all.endsWith('\r') ? '\r' : '';
    yield Buffer.from(visibleText(all.slice(0, all.length - held.length)));
  }
  yield Buffer.from(visibleText(held));
}

async function* partsOf(path: string, offset: number): AsyncGenerator<Buffer> {
  if (offset > 0)
    for await (const text of textsOf(path, offset)) yield Buffer.from(text);
  else
    for await (const chunk of await streamRegular(path))
      if (Buffer.isBuffer(chunk)) yield chunk;
}

async function* textsOf(path: string, offset: number): AsyncGenerator<string> {
  let position = 0;
  for await (const chunk of await streamRegular(path, {
    encoding: 'utf8'
  })) {
    if (typeof chunk !== 'string') continue;
    yield chunk.slice(Math.max(0, offset - position));
    position += chunk.length;
  }
}

/** Colors only on a terminal, unless NO_COLOR or FORCE_COLOR is set. */
export function colorsFor(stream: { isTTY?: boolean }): Colors {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  const forced = FORCE_COLOR !== undefined && !/^(0|false)?$/.test(FORCE_COLOR);
  const able = stream.isTTY === true && TERM !== 'dumb';
  return picocolors.createColors(!NO_COLOR && (forced || able));
}

/** Green: success; red: failure; yellow: at work, or an uncertain end. */
export function statusColor(
  colors: Colors,
  status: RunStatus | WorkerStatus
): (text: string) => string {
  switch (status) {
    case 'completed':
    case 'ready':
      return colors.green;
    case 'failed':
    case 'crashed':
      return colors.red;
    case 'running':
    case 'asking':
    case 'timeout':
    case 'interrupted':
    case 'starting':
    case 'busy':
    case 'stalled':
      return colors.yellow;
    case 'queued':
    case 'canceled':
    case 'stopped':
      return colors.dim;
    // A file in the record may have an unknown status.
    default:
      return String;
  }
}
