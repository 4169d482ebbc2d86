import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { claimNeverStarts } from '../../core/runs/run-files.ts';
import { isOwnTmuxInUse, ownTmux, removeOwnTmux } from './agent-tmux.ts';
import { locate } from './locate.ts';
import { hasProc } from './process-table.ts';
import { createProcesses } from './processes.ts';
import { isWindows } from './windows.ts';

const testTmux = needing('tmux', locate('tmux') !== undefined);
const testTmuxProc = needing('tmux and /proc', hasProc() && !!locate('tmux'));

let shared: string;
let directory: string;

beforeEach(() => {
  shared = mkdtempSync(join(tmpdir(), 'tx-'));
  directory = join(shared, 'spawns', shared.slice(-6));
});

afterEach(() => {
  removeOwnTmux(directory);
  rmSync(shared, { recursive: true, force: true });
});

testTmux(
  'an agent gets its own socket directory, which is removed with it',
  () => {
    const { TMUX_TMPDIR: place = '' } = ownTmux(request(), shared);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    expect(`${place}/tmux-1000/default`.length).toBeLessThan(104);
    tmux(place, 'new-session', '-d', 'sleep 100');
    tmux(place, 'kill-server');
    removeOwnTmux(directory);
    expect(existsSync(place)).toBe(false);
  }
);

test.each(['TMUX', 'TMUX_TMPDIR'])(
  'an agent whose environment sets %s gets no directory',
  (name) => {
    expect(ownTmux(request({ [name]: '/x' }), shared)).toEqual({});
  }
);

testTmux('a running server of the user is shared', () => {
  tmux(shared, 'new-session', '-d', 'sleep 100');
  try {
    expect(ownTmux(request(), shared)).toEqual({});
  } finally {
    const pid = tmux(shared, 'display-message', '-p', '#{pid}');
    process.kill(Number(pid), 'SIGKILL');
  }
});

testTmux('a killed server that left its socket is not shared', async () => {
  tmux(shared, 'new-session', '-d', 'sleep 100');
  const pid = tmux(shared, 'display-message', '-p', '#{pid}');
  process.kill(Number(pid), 'SIGKILL');
  const socket = join(shared, `tmux-${userInfo().uid}`, 'default');
  expect(existsSync(socket)).toBe(true);
  await until('its end', () => ownTmux(request(), shared).TMUX_TMPDIR);
});

test.skipIf(isWindows)(
  'a directory that others can open is neither used nor removed',
  () => {
    const { TMUX_TMPDIR: place = '' } = ownTmux(request(), shared);
    chmodSync(place, 0o755);
    expect(ownTmux(request(), shared)).toEqual({});
    removeOwnTmux(directory);
    expect(existsSync(place)).toBe(true);
    chmodSync(place, 0o700);
  }
);

testTmuxProc(
  'the directory of an agent stays while a person uses a server in it',
  async () => {
    const { TMUX_TMPDIR: place = '' } = ownTmux(request(), shared);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'exit'), '0\n');
    claimNeverStarts(directory);
    const { stop, self } = createProcesses('dist');
    const end = () => stop({ directory, place: self.place });
    tmux(place, 'new-session', '-d', 'sleep 100');
    await end();
    expect(isOwnTmuxInUse(directory)).toBe(true);
    expect(existsSync(place)).toBe(true);
    tmux(place, 'kill-server');
    await until('its end', () => !isOwnTmuxInUse(directory));
    await end();
    expect(existsSync(place)).toBe(false);
  }
);

test.skipIf(isWindows).each([
  ['could not claim it', '.', false],
  ['was not started', 'missing', undefined]
])(
  'an agent whose supervisor %s leaves no directory',
  async (_, cwd, result) => {
    const { TMUX_TMPDIR: place = '' } = ownTmux(request(), shared);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'stdin'), '');
    symlinkSync('missing', join(directory, 'claim'));
    const { ended } = createProcesses('dist').launch({
      ...{ ...request(), agentId: 'aaaaaaaa', cwd: join(shared, cwd) },
      ...{ command: '/bin/true', args: [], stopWithUs: false },
      ...{ timeoutSeconds: 9, idleTimeoutSeconds: 0, outputLimitBytes: 0 }
    });
    expect(await ended.catch(() => undefined)).toBe(result);
    await until('its end', () => !existsSync(place));
  }
);

function request(environment: Record<string, string> = {}) {
  return { directory, environment };
}

function tmux(place: string, ...args: string[]): string {
  const env = { ...process.env, TMUX_TMPDIR: place, TMUX: undefined };
  return execFileSync('tmux', args, { env, encoding: 'utf8' }).trim();
}
