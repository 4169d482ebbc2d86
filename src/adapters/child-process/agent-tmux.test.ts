import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { ownTmux, removeOwnTmux } from './agent-tmux.ts';
import { locate } from './locate.ts';

const testTmux = needing('tmux', locate('tmux') !== undefined);

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

function request(environment: Record<string, string> = {}) {
  return { directory, environment };
}

function tmux(place: string, ...args: string[]): string {
  const env = { ...process.env, TMUX_TMPDIR: place, TMUX: undefined };
  return execFileSync('tmux', args, { env, encoding: 'utf8' }).trim();
}
