import type { JournalRecord } from './journal.ts';

/** Undefined for what is no record: torn lines, or foreign ones. */
export function parseRecord(line: string): JournalRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return undefined;
    // Our own lines: `verify` tells whether they still are what we wrote.
    return 'type' in value && 'agent_id' in value
      ? (value as JournalRecord)
      : undefined;
  } catch {
    return undefined;
  }
}
