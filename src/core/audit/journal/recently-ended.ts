import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { RunStore } from '../../runs/run-store.ts';
import { type JournalFiles, totalSize } from './journal-files.ts';
import { blocksBack } from './journal-reader.ts';
import { type JournalRecord, parseRecord } from './journal-record.ts';

/** The most of the journal that is searched: a day rarely has more. */
const maximumChars = 4 * 1024 * 1024;

/**
 * Like `recentlyEnded`, but skips agents without a folder and includes agents
 * whose end is not in the journal, or not yet.
 * @param over runs that have ended without a journal record; defaults to all
 *   open runs with an outcome
 */
export function lastEnded(
  files: JournalFiles,
  store: RunStore,
  limit: number,
  over: readonly string[] = store.openIds().filter((id) => store.hasOutcome(id))
): string[] {
  const journaled = recentlyEnded(files, limit, (id) => store.has(id));
  const fresh = over.filter((id) => !journaled.includes(id));
  const known = [...journaled, ...fresh];
  const all =
    known.length < limit ? [...unjournaled(store, known), ...known] : known;
  // Not slice(-limit), which returns all for a limit of 0.
  return all.slice(Math.max(0, all.length - limit));
}

/** Other ended agents: the journal that had their ends was removed or cut. */
function unjournaled(store: RunStore, known: string[]): string[] {
  const skipped = new Set([...known, ...store.markedIds()]);
  return store
    .ids(skipped)
    .flatMap((id) => {
      const outcome = join(store.directoryOf(id), 'outcome.json');
      const file = statSync(outcome, { throwIfNoEntry: false });
      return file ? [{ id, endedAt: file.mtimeMs }] : [];
    })
    .sort((a, b) => a.endedAt - b.endedAt)
    .map(({ id }) => id);
}

/**
 * The ids of the agents that ended last, newest last. Reads the journal from
 * its end, so the cost does not depend on its size. Synchronous, because an
 * await takes long while hundreds of agents start.
 */
export function recentlyEnded(
  files: JournalFiles,
  limit: number,
  isKept: (agentId: string) => boolean = () => true
): string[] {
  const newest = new Set<string>();
  if (limit > 0)
    for (const { agent_id: id } of endsBack(files)) {
      if (isKept(id)) newest.add(id);
      if (newest.size >= limit) break;
    }
  return [...newest].reverse();
}

type End = Extract<JournalRecord, { type: 'finished' }>;

/** The ends in the newest part of the journal, newest first. */
export function* endsBack(files: JournalFiles): Generator<End> {
  const list = files.look();
  let left = maximumChars;
  for (const { text } of blocksBack(files, list, totalSize(list))) {
    for (const line of text.split('\n').reverse()) {
      if (!line.includes('"type":"finished"')) continue;
      const record = parseRecord(line);
      if (record?.type === 'finished') yield record;
    }
    left -= text.length;
    if (left < 0) return;
  }
}
