import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { markOf } from '../../core/audit/view-file.ts';
import { identityOf } from '../../core/paths/identity.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { LogResources } from './log-resources.ts';
import { placeOf } from './resource-uri.ts';

const uri = 'troupe://log/IAC.md';

let workspace: TempWorkspace;
let logs: LogResources;

beforeEach(() => {
  workspace = createTempWorkspace();
  logs = new LogResources(workspace.paths, () => identityOf(workspace.paths));
});

afterEach(() => workspace.remove());

/** A log of this record. */
function whole(more = ''): string {
  const identity = identityOf(workspace.paths);
  return `# Log\n\n${markOf('IAC.md', 'IAC', identity)}\n${more}`;
}

function read(asked = uri) {
  const place = placeOf(asked);
  return logs.read({ place, uri: asked, clientName: '' });
}

test('a log that is there is listed, and read', async () => {
  expect(logs.list()).toEqual([]);
  expect(logs.listStamp()).toBe('');
  workspace.write('logs/IAC.md', whole());
  expect(logs.list().map((one) => one.uri)).toEqual([uri]);
  expect(logs.listStamp()).toBe('IAC.md');
  expect(await read()).toEqual([
    { uri, mimeType: 'text/markdown', text: whole() }
  ]);
});

test('what lies in the place of a log is not read', async () => {
  const path = join(workspace.path, 'logs', 'IAC.md');
  const other = workspace.write('secret', 'not yours');
  workspace.write('logs/CONTEXT.md', whole());
  const places = [
    () => symlinkSync(other, path),
    () => mkdirSync(path),
    () => writeFileSync(path, '# Seeded\n'),
    () => undefined
  ];
  for (const place of places) {
    place();
    expect(logs.list().map(({ name }) => name)).toEqual(['CONTEXT.md']);
    await expect(read()).rejects.toThrow('There is no logs/IAC.md');
    expect(() => logs.stampOf(placeOf(uri))).toThrow('There is no logs/IAC.md');
    rmSync(path, { recursive: true, force: true });
  }
});

test('its stamp changes with the file', () => {
  workspace.write('logs/IAC.md', whole());
  const stamp = logs.stampOf(placeOf(uri));
  const before = stamp();
  expect(stamp()).toBe(before);
  workspace.write('logs/IAC.md', whole('More.\n'));
  expect(stamp()).not.toBe(before);
});

test('a long log is read on from any character', async () => {
  const long = whole('火🎭x\n'.repeat(10_000));
  workspace.write('logs/IAC.md', long);
  let text = '';
  while (text.length < long.length) {
    const [part] = await read(`${uri}?offset=${text.length}`);
    expect(part?.text).not.toBe('');
    text += part?.text ?? '';
  }
  expect(text).toBe(long);
  expect((await read(`${uri}?offset=999999`))[0]?.text).toBe('');
});
