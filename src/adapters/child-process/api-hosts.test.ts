import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createProcessStage } from '../../../test/kit/agents/process-stage.ts';
import type { LaunchRequest } from '../../core/runs/ports.ts';
import { ApiHosts } from './api-hosts.ts';
import { isWindows } from './windows.ts';

/** Answers each agent with its own pid. */
const program =
  'process.on("message", (_, socket) => socket.end(`${process.pid}`));';

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

test.skipIf(isWindows)(
  'agents that follow each other share a host',
  async () => {
    const { endLater } = createProcessStage();
    const hosts = new ApiHosts();
    const pids = new Set<number>();
    for (let count = 0; count < 3; count += 1) {
      const { stdin, stdout } = spawn('cat');
      if (!(stdin instanceof Socket)) throw new Error('No socket.');
      hosts
        .hostOf(request)
        .take({ directory: '/', outputLimitBytes: 0 }, stdin);
      const pid = Number(await text(stdout));
      pids.add(pid);
      endLater(pid);
    }
    expect(pids.size).toBe(1);
  }
);
