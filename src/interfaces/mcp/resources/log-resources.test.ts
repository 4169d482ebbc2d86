import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { markOf } from '../../../core/audit/views/view-file.ts';
import { identityOf } from '../../../core/paths/records.ts';
import { LogResources } from './log-resources.ts';
import { parseUri } from './resource-uri.ts';

const uri = 'troupe://log/IAC.md';

let workspace: TempWorkspace;
let logs: LogResources;

beforeEach(() => {
  workspace = createTempWorkspace();
  logs = new LogResources(workspace.paths, () => identityOf(workspace.paths));
});

afterEach(() => workspace.remove());

/** The text of a view of this record. */
function viewText(more = ''): string {
  const identity = identityOf(workspace.paths);
  return `# Log\n\n${markOf('IAC.md', 'IAC', identity)}\n${more}`;
}

function read(request = uri) {
  const ref = parseUri(request);
  return logs.read({ ref, uri: request, clientName: '' });
}

test('an existing log is listed and can be read', async () => {
  expect(logs.list()).toEqual([]);
  expect(logs.listStamp()).toBe('');
  workspace.write('logs/IAC.md', viewText());
  expect(logs.list().map((one) => one.uri)).toEqual([uri]);
  expect(logs.listStamp()).toBe('IAC.md');
  expect(await read()).toEqual([
    { uri, mimeType: 'text/markdown', text: viewText() }
  ]);
});

test('a link, a directory or a foreign file is not shown as a log', async () => {
  const path = join(workspace.path, 'logs', 'IAC.md');
  const other = workspace.write('secret', 'not yours');
  workspace.write('logs/CONTEXT.md', viewText());
  const obstacles = [
    () => symlinkSync(other, path),
    () => mkdirSync(path),
    () => writeFileSync(path, '# Seeded\n'),
    () => undefined
  ];
  for (const create of obstacles) {
    create();
    expect(logs.list().map(({ name }) => name)).toEqual(['CONTEXT.md']);
    await expect(read()).rejects.toThrow('There is no logs/IAC.md');
    expect(() => logs.stampOf(parseUri(uri))).toThrow(
      'There is no logs/IAC.md'
    );
    rmSync(path, { recursive: true, force: true });
  }
});

test('the stamp changes with the file', () => {
  workspace.write('logs/IAC.md', viewText());
  const stamp = logs.stampOf(parseUri(uri));
  const before = stamp();
  expect(stamp()).toBe(before);
  workspace.write('logs/IAC.md', viewText('More.\n'));
  expect(stamp()).not.toBe(before);
});

test('a long log can be read from any character on', async () => {
  const long = viewText('火🎭x\n'.repeat(10_000));
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
