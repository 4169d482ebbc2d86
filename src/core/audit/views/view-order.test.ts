import {
  appendFileSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentId,
  archives,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { writeArchive } from './archive.ts';
import { IacView } from './iac-view.ts';

const noon = new Date('2026-11-21T12:00:00Z');
let log: TestLog;

beforeEach(() => {
  log = createLog();
});

afterEach(() => log.workspace.remove());

test('a view does not replace a newer one that was written in the meantime', async () => {
  const path = join(log.logDirectory, 'IAC.md');
  // The text is long, so the rendering reads it from its file.
  log.spawn(agentId(0), 'Much. '.repeat(5000));
  const before = readFileSync(log.path);
  log.run(1, 2);
  const later = readFileSync(log.path).subarray(before.length);
  await log.newView().render([], noon);
  const ofOther = readFileSync(path);
  rmSync(path);
  truncateSync(log.path, before.length);
  let isOther = false;
  const behind = new IacView({
    paths: log.workspace.paths,
    identity: log.identity,
    pages: log.pages,
    maximumEntries: 200,
    maximumBytes: 1024 * 1024,
    redact: (text) => {
      // Another server writes the view after this one has read the journal.
      if (!isOther) appendFileSync(log.path, later);
      if (!isOther) writeFileSync(path, ofOther);
      isOther = true;
      return text;
    }
  });
  await behind.render([], noon);
  expect(isOther).toBe(true);
  expect(readFileSync(path).equals(ofOther)).toBe(true);
  expect(behind.look().isShown).toBe(true);
});

test('an archive file does not replace a newer one either', async () => {
  const directory = join(log.logDirectory, 'archive');
  const write = (offset: number, render: () => Promise<Buffer[]>) =>
    writeArchive(
      directory,
      log.identity(),
      { first: 0, end: 1, offset, mark: 'one' },
      () => true,
      render
    );
  await write(10, async () => {
    await write(20, async () => [Buffer.from('It has ended.\n')]);
    return [Buffer.from('It is running.\n')];
  });
  const [name = ''] = archives(log.logDirectory);
  expect(readFileSync(join(directory, name), 'utf8')).toContain('has ended');
});
