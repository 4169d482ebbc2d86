import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type CouncilServers,
  createCouncilServers,
  done
} from '../../kit/servers/council-calls.ts';
import { endedPid } from '../../kit/workspaces/lock-files.ts';

let servers: CouncilServers;

beforeEach(() => {
  servers = createCouncilServers();
});

afterEach(() => servers.close());

describe('a council goes on after a lock of the published program', () => {
  test.each([
    ['that was killed', async () => publishedLock(await endedPid())],
    ['that was killed before it wrote a word', async () => ''],
    ['of a form that nobody knows', async () => '{}']
  ])('%s', async (_title, text) => {
    const lock = `${servers.path}.lock`;
    mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
    writeFileSync(lock, await text());
    utimesSync(lock, 1e9, 1e9);
    const server = await servers.start();
    await done(server, 'start_council', { agent_name: 'a', request: 'On?' });
    expect(existsSync(lock)).toBe(false);
  });
});

const publishedLock = (pid: number) =>
  JSON.stringify({ pid, createdAt: '2001-09-09T01:46:40.000Z' });
