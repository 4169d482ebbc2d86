import { setImmediate as breathe } from 'node:timers/promises';
import { blocksBack } from '../audit/journal-blocks.ts';
import { type JournalFiles, totalSize } from '../audit/journal-files.ts';
import { parseRecord } from '../audit/parse-record.ts';

/**
 * Whether an agent's end is in the journal. Looked for from the journal's end
 * back to the agent's spawn: no end is written before that.
 */
export async function isEndJournalled(
  agentId: string,
  files: JournalFiles
): Promise<boolean> {
  const list = files.list();
  for (const { text } of blocksBack(files, list, totalSize(list))) {
    if (holds(text, 'finished', agentId)) return true;
    if (holds(text, 'spawned', agentId)) return false;
    await breathe();
  }
  return false;
}

/** A line that was torn has the mark, and is no record. */
function holds(text: string, type: string, agentId: string): boolean {
  const mark = `"type":"${type}","agent_id":"${agentId}"`;
  return (
    text.includes(mark) &&
    text
      .split('\n')
      .some((line) => line.includes(mark) && parseRecord(line) !== undefined)
  );
}
