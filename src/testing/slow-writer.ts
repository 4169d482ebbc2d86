import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Journal, type JournalEvent } from '../core/audit/journal.ts';
import type { TestLog } from './logged-agents.ts';

/** A writer that can be stopped between opening the journal and writing. */
export interface SlowWriter {
  /** It has opened the file that has the journal's name now. */
  opens: () => void;
  /** It writes to that, or to what has the name now if it has opened none. */
  writes: (event: JournalEvent) => void;
}

/** Its path is another name of the file it has opened. */
export function slowWriter(log: TestLog, name: string): SlowWriter {
  const directory = join(log.workspace.path, 'slow-writers');
  const door = join(directory, name);
  for (const needed of [directory, log.workspace.record])
    mkdirSync(needed, { recursive: true });
  const journal = new Journal(door, log.heads, log.redact);
  let isOpen = false;
  const opens = () => {
    writeFileSync(log.path, '', { flag: 'a', mode: 0o600 });
    rmSync(door, { force: true });
    linkSync(log.path, door);
    isOpen = true;
  };
  return {
    opens,
    writes: (event) => {
      if (!isOpen) opens();
      journal.append(event);
      isOpen = false;
    }
  };
}
