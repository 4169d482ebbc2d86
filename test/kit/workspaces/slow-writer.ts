import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { Journal } from '../../../src/core/audit/journal/journal.ts';
import type { JournalEvent } from '../../../src/core/audit/journal/journal-record.ts';
import type { TestLog } from '../servers/logged-agents.ts';

/** A writer that can be stopped between opening the journal and writing. */
export interface SlowWriter {
  /** It has opened the file that has the journal's name now. */
  opens: () => void;
  /** It writes to that, or to what has the name now if it has opened none. */
  writes: (event: JournalEvent) => void;
}

/** The file that it has opened moves to its own path while it writes. */
export function slowWriter(log: TestLog, name: string): SlowWriter {
  const directory = join(log.workspace.path, 'slow-writers');
  const door = join(directory, name);
  for (const needed of [directory, log.workspace.record])
    mkdirSync(needed, { recursive: true });
  const journal = new Journal(door, log.heads, log.redact);
  let opened: number | undefined;
  const opens = () => {
    writeFileSync(log.path, '', { flag: 'a', mode: 0o600 });
    opened = statSync(log.path).ino;
  };
  return {
    opens,
    writes: (event) => {
      if (opened === undefined) opens();
      const path = filesIn(log).find((file) => statSync(file).ino === opened);
      if (path !== undefined) renameSync(path, door);
      journal.append(event);
      if (path !== undefined) renameSync(door, path);
      opened = undefined;
    }
  };
}

/** The journal and its segments. */
function filesIn(log: TestLog): string[] {
  const archive = log.workspace.paths.segments;
  const names = existsSync(archive) ? readdirSync(archive) : [];
  const files = [log.path, ...names.map((name) => join(archive, name))];
  return files.filter((file) => existsSync(file));
}
