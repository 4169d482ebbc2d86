import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  createProcessStage,
  type ProcessStage
} from '../../../test/kit/agents/process-stage.ts';
import type { LaunchRequest } from '../../core/runs/ports.ts';
import { ApiHosts } from './api-hosts.ts';
import { isWindows } from './windows.ts';

/** Answers each agent with its own pid and its variables of troupe. */
const program = `process.on("message", (_, socket) => {
  const names = Object.keys(process.env).filter((name) => /^TROUPE_/.test(name));
  socket.end([process.pid, ...names].join(" "));
});`;

const request: LaunchRequest = {
  agentId: '0badcafe',
  directory: '/',
  command: process.execPath,
  args: ['-e', program],
  cwd: '/',
  environment: {},
  timeoutSeconds: 0,
  idleTimeoutSeconds: 0,
  outputLimitBytes: 0,
  sharedEngine: 'mistral',
  stopWithUs: false
};

/** The pid of the host that serves an agent, and the names of its variables. */
async function hostOf(hosts: ApiHosts, environment: Record<string, string>) {
  const { endLater } = stage;
  const { stdin, stdout } = spawn('cat');
  if (!(stdin instanceof Socket)) throw new Error('No socket.');
  hosts
    .hostOf({ ...request, environment })
    .take({ directory: '/', outputLimitBytes: 0 }, stdin);
  const [pid, ...names] = (await text(stdout)).split(' ');
  endLater(Number(pid));
  return { pid, names };
}

let stage: ProcessStage;

beforeEach(() => {
  stage = createProcessStage();
});

describe.skipIf(isWindows)('agents that follow each other', () => {
  test('share a host, which has the marks of none of them', async () => {
    const hosts = new ApiHosts();
    const pids = new Set<unknown>();
    for (let count = 0; count < 3; count += 1) {
      const { pid, names } = await hostOf(hosts, {
        TROUPE_API_KEY: 'key',
        TROUPE_AGENT_ID: `0000000${count}`,
        TROUPE_AGENT_DIR: `/${count}`,
        TROUPE_DEPTH: `${count}`
      });
      pids.add(pid);
      expect(names).toEqual(['TROUPE_API_KEY']);
    }
    expect(pids.size).toBe(1);
  });

  test('share none if they differ in any other variable', async () => {
    const hosts = new ApiHosts();
    const one = await hostOf(hosts, { TROUPE_API_KEY: 'one' });
    const other = await hostOf(hosts, { TROUPE_API_KEY: 'other' });
    expect(one.pid).not.toBe(other.pid);
  });
});
