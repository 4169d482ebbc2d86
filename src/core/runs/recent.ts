import { open } from 'node:fs/promises';
import { parseRecord } from '../audit/journal-window.ts';

const blockBytes = 256 * 1024;

/**
 * Ids of the agents that ended last, newest last. Reads the journal from its
 * end, so it costs the same after ten agents as after ten thousand.
 */
export async function recentlyEnded(
  journalPath: string,
  limit: number
): Promise<string[]> {
  const file = await open(journalPath, 'r').catch(() => undefined);
  if (!file) return [];
  try {
    const newest = new Set<string>();
    let end = (await file.stat()).size;
    while (end > 0 && newest.size < limit) {
      const from = Math.max(0, end - blockBytes);
      const block = Buffer.alloc(end - from);
      await file.read(block, 0, block.length, from);
      const cut = from === 0 ? 0 : block.indexOf(10) + 1;
      collect(block.subarray(cut).toString('utf8'), newest, limit);
      end = cut === 0 ? from : from + cut;
      if (cut === block.length) break;
    }
    return [...newest].reverse();
  } finally {
    await file.close();
  }
}

function collect(text: string, newest: Set<string>, limit: number): void {
  for (const line of text.split('\n').reverse()) {
    if (newest.size >= limit) return;
    if (!line.includes('"type":"finished"')) continue;
    const record = parseRecord(line);
    if (record?.type === 'finished') newest.add(record.agent_id);
  }
}
