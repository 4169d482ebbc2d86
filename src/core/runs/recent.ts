import { blocksBack } from '../audit/journal-blocks.ts';
import { type JournalFiles, totalSize } from '../audit/journal-files.ts';
import { parseRecord } from '../audit/parse-record.ts';
import type { RunStore } from './run-store.ts';

/** So far back it looks when those that ended last were cleaned away. */
const reachChars = 4 * 1024 * 1024;

/**
 * As `recentlyEnded`, with those whose ends are not in the journal yet.
 * @param over open runs that are known to be over; default: those with a
 *   recorded end
 */
export function lastEnded(
  files: JournalFiles,
  store: RunStore,
  limit: number,
  over = store.openIds().filter((id) => store.hasOutcome(id))
): string[] {
  const noted = recentlyEnded(files, limit, (id) => store.has(id));
  const fresh = over.filter((id) => !noted.includes(id));
  return [...noted, ...fresh].slice(-limit);
}

/**
 * Ids of the agents that ended last, newest last. Reads the journal from its
 * end, so it costs the same after ten agents as after ten thousand. In one go:
 * while hundreds are started, each pause is as long as a start takes.
 */
export function recentlyEnded(
  files: JournalFiles,
  limit: number,
  isThere: (agentId: string) => boolean = () => true
): string[] {
  const newest = new Set<string>();
  const list = files.look();
  let left = reachChars;
  for (const { text } of blocksBack(files, list, totalSize(list))) {
    collect(text, newest, limit, isThere);
    left -= text.length;
    if (newest.size >= limit || left < 0) break;
  }
  return [...newest].reverse();
}

function collect(
  text: string,
  newest: Set<string>,
  limit: number,
  isThere: (agentId: string) => boolean
): void {
  for (const line of text.split('\n').reverse()) {
    if (newest.size >= limit) return;
    if (!line.includes('"type":"finished"')) continue;
    const record = parseRecord(line);
    if (record?.type === 'finished' && isThere(record.agent_id))
      newest.add(record.agent_id);
  }
}
