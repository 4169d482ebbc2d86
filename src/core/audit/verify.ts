import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThere } from '../state/atomic-file.ts';
import { LineReader } from '../state/line-reader.ts';
import { sizeOf } from '../state/text-file.ts';
import { type ChainHead, Chains, type Fault } from './chains.ts';
import { maximumRecordBytes } from './journal.ts';
import { type JournalFile, JournalFiles } from './journal-files.ts';

export interface Verification {
  records: number;
  heads: ChainHead[];
  /** Lines a killed writer left unfinished: no record was lost by them. */
  torn: number;
  /** In the journal's order; empty when every chain holds. */
  faults: Fault[];
}

/** So often it is read again, when a segment has grown meanwhile. */
const attempts = 5;

/**
 * Follows every writer's chain through the journal, segment by segment. An
 * edited, deleted, repeated or reordered record breaks its writer's chain at a
 * known line; a chain that was cut or changed at its end differs from the head
 * its writer noted. Who changes both is found only by heads kept elsewhere.
 */
export async function verifyJournal(
  path: string,
  headDirectory: string
): Promise<Verification> {
  const files = new JournalFiles(path);
  for (let attempt = 1; ; attempt += 1) {
    // Before the journal, which may grow meanwhile: never the other way round.
    const noted = notedHeads(headDirectory);
    const list = files.list();
    const chains = new Chains(noted, {
      file: list.at(-1)?.name ?? '',
      line: 0
    });
    const sizes: number[] = [];
    for (const file of list) sizes.push(await readInto(chains, files, file));
    // A late record of a segment that was read already may have its successor
    // in a file that was read then.
    const isSame = list
      .slice(0, -1)
      .every((segment, index) => sizeOf(segment.path) === sizes[index]);
    if (!isSame && attempt < attempts) continue;
    chains.end();
    const { records, heads, torn, faults } = chains;
    return { records, heads, torn, faults: inOrder(faults, list) };
  }
}

function inOrder(faults: Fault[], list: JournalFile[]): Fault[] {
  const places = new Map(list.map(({ name }, index) => [name, index]));
  const placeOf = ({ file }: Fault) => places.get(file) ?? 0;
  return faults.sort((a, b) => placeOf(a) - placeOf(b) || a.line - b.line);
}

/** The heads that writers noted; one may be a record behind its journal. */
function notedHeads(headDirectory: string): ChainHead[] {
  const writers = existsSync(headDirectory) ? readdirSync(headDirectory) : [];
  return writers.flatMap((writer) => {
    const text = readIfThere(join(headDirectory, writer)) ?? '';
    const [, n, hash] = /^(\d+) ([0-9a-f]{64})\n$/.exec(text) ?? [];
    return n && hash ? [{ writer, n: Number(n), hash }] : [];
  });
}

/**
 * Line numbers as an editor shows them: empty lines count.
 * @returns the bytes that were read
 */
async function readInto(
  chains: Chains,
  files: JournalFiles,
  file: JournalFile
): Promise<number> {
  const handle = await files.open(file);
  if (!handle) return 0;
  let line = 0;
  const take = (text: string) => {
    line += 1;
    if (text !== '') chains.take(text, { file: file.name, line });
  };
  const reader = new LineReader(file.path, 4 * maximumRecordBytes, 0, true);
  try {
    await reader.readFrom(handle, take);
  } finally {
    await handle.close();
  }
  reader.takeRest(take);
  return reader.offset;
}
