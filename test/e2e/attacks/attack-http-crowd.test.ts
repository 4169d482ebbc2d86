import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RunningCommand } from '../../kit/servers/command-line.ts';
import { type StartedHttp, startHttp } from '../../kit/servers/http-server.ts';
import { ask, initialize, message } from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

describe('connections that never finish a request', () => {
  /** Another program of this machine, which does not have the token. */
  async function crowd(
    { port }: StartedHttp,
    count: number
  ): Promise<RunningCommand> {
    const program = join(
      import.meta.dirname,
      '../../kit/servers/http-crowd.mjs'
    );
    const args = [program, String(port), String(count)];
    const running = new RunningCommand(spawn(process.execPath, args));
    await running.says('stdout', /full/);
    return running;
  }

  async function secondsOf(work: () => Promise<unknown>): Promise<number> {
    const began = performance.now();
    await work();
    return (performance.now() - began) / 1000;
  }

  /** A client's first calls, each by a connection of its own. */
  async function client(server: StartedHttp): Promise<void> {
    const { status, headers } = await ask(server, { body: initialize });
    expect(status).toBe(200);
    const session = { 'mcp-session-id': String(headers['mcp-session-id']) };
    const listed = await ask(server, {
      headers: session,
      body: message('tools/list')
    });
    expect(listed.status).toBe(200);
    await ask(server, { method: 'DELETE', headers: session });
  }

  test.each([700, 1500])(
    '%i of them, renewed as they are closed, keep no client out',
    async (count) => {
      const server = await startHttp(workspace);
      // A second on an idle machine, and more where other tests use it, too.
      let limit = 1;
      for (let turn = 0; turn < 5; turn += 1)
        limit += 3 * (await secondsOf(() => client(server)));
      const attack = await crowd(server, count);
      for (let turn = 0; turn < 20; turn += 1)
        expect(await secondsOf(() => client(server))).toBeLessThan(limit);
      attack.child.stdin?.end();
      await attack.exited;
      expect(await server.end()).toBe(0);
    }
  );

  test('close no connection that has presented the token', async () => {
    const server = await startHttp(workspace);
    const { headers } = await ask(server, { body: initialize });
    const session = { 'mcp-session-id': String(headers['mcp-session-id']) };
    const call = message('tools/call', {
      name: 'spawn_rehearsal',
      arguments: { prompt: 'hang' }
    });
    await ask(server, { headers: session, body: call });
    const body = message('tools/call', {
      name: 'wait_for_agents',
      arguments: { timeout: 2 }
    });
    const waiting = ask(server, { headers: session, body });
    const attack = await crowd(server, 2500);
    const { status, text } = await waiting;
    expect(status).toBe(200);
    expect(text).toContain('still_running');
    attack.child.stdin?.end();
    await attack.exited;
    expect(await server.end()).toBe(0);
  });

  test('do not delay the end of the server', async () => {
    const server = await startHttp(workspace);
    const attack = await crowd(server, 700);
    expect(await secondsOf(() => server.end())).toBeLessThan(5);
    expect(server.command.child.exitCode).toBe(0);
    attack.child.stdin?.end();
    await attack.exited;
  });
});
