import { renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { emptyState } from './state.ts';
import { StateFile } from './state-file.ts';
import { encode } from './state-text.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'state.json');
});

afterEach(() => workspace.remove());

const early = new Date('2026-01-01T00:00:00Z');

/** Another process writes, on a system whose times are coarse. */
function replace(note: number): void {
  const next = `${path}.next`;
  writeFileSync(next, encode({ ...emptyState, note }));
  utimesSync(next, early, early);
  renameSync(next, path);
}

test('a file that others replaced twice is read again, though its time, its size and perhaps its number are as before', () => {
  const file = new StateFile(path);
  for (let note = 100; note < 200; note += 2) {
    replace(note);
    replace(note + 1);
    expect(file.read()).toMatchObject({ note: note + 1 });
  }
  file.close();
});
