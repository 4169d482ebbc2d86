import { join } from 'node:path';
import { writeNew } from '../state/files/atomic-file.ts';
import type { DurableWork } from '../state/files/shared-sync.ts';
import type { Outcome, RunRecord } from './run.ts';
import { createFolder } from './run-files.ts';
import { notStarting } from './start-marks.ts';

/** What the folder of a new run contains. */
export interface Draft {
  record: RunRecord;
  prompt: string;
  stdin: string;
  /** The outcome of a run that cannot start. */
  outcome?: Outcome | undefined;
  /** Called once it has its id; an error undoes the run. */
  admit?: (() => void) | undefined;
}

/** Writes the folder of a new run under a name of its own. */
export function* writeDraft(
  folder: string,
  { record, prompt, stdin, outcome }: Draft
): DurableWork<void> {
  createFolder(folder);
  const add = (name: string, text: string) => {
    const path = join(folder, name);
    writeNew(path, text);
    return path;
  };
  add('prompt.txt', prompt);
  if (stdin !== prompt) add('stdin', stdin);
  add(notStarting, '');
  if (outcome) {
    add('claim', 'never\n');
    add('result.txt', '');
    yield add('outcome.json', toText(outcome));
  }
  yield add('record.json', toText(record));
}

/** The text of a file of the record. */
export function toText(value: RunRecord | Outcome): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
