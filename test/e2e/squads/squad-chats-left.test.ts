import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processEntry } from '../../../src/adapters/child-process/process-table.ts';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  squadIn,
  startMember,
  startSquad,
  waitForSquad
} from '../../kit/servers/squad-call.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

/**
 * Makes a chat, and leaves a process of a session of its own; it ends when the
 * file "gate" is there.
 */
const leaver = `
const { spawn } = require('node:child_process');
const { existsSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const own = (name) => join(__dirname, name);
const left = spawn('sleep', ['277'], { detached: true, stdio: 'ignore' });
left.unref();
writeFileSync(own('left'), String(left.pid));
const timer = setInterval(() => {
  if (!existsSync(own('gate'))) return;
  clearInterval(timer);
  console.log('chat-1');
}, 10);
`;

let workspace: TempWorkspace;
let server: McpClient;
let program: ReturnType<typeof squadProgram>;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'You test.');
  workspace.write('run.template', 'squaddie "--chat=<%= chatId %>"');
  workspace.write('create.template', 'leaver');
  program = squadProgram(workspace);
  workspace.program('leaver', leaver);
  server = await start();
});

afterEach(async () => {
  await server.close();
  if (isLeft()) process.kill(leftPid(), 'SIGKILL');
  workspace.remove();
});

function start(): Promise<McpClient> {
  return startServer(workspace, {
    env: {
      STATE_MODE: 'stateful',
      RUN_TEMPLATE_PATH: 'run.template',
      CREATE_CHAT_TEMPLATE_PATH: 'create.template'
    }
  });
}

const begin = { roleId: 'tester', task: 'Begin.' };
const openGate = () => writeFileSync(join(workspace.bin, 'gate'), '');

function leftPid(): number {
  return Number(readFileSync(join(workspace.bin, 'left'), 'utf8'));
}

function isLeft(): boolean {
  if (!existsSync(join(workspace.bin, 'left'))) return false;
  return processEntry(leftPid())?.zombie === false;
}

test('what the command that made a chat leaves running ends before the member begins', async () => {
  openGate();
  workspace.write('run.template', 'looker "--chat=<%= chatId %>"');
  workspace.program(
    'looker',
    `const { readFileSync } = require('node:fs');
    const { spawnSync } = require('node:child_process');
    const left = readFileSync(__dirname + '/left', 'utf8');
    const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', left]);
    const isGone = ['', 'Z'].includes(String(stdout).trim().slice(0, 1));
    console.log(isGone ? 'gone' : 'left');`
  );
  const member = await startMember(server, begin);
  expect(member).toMatchObject({ chatId: 'chat-1', result: 'gone' });
  await until('their ends', () => agentsAlive(workspace).length === 0);
});

test('what a server that was killed could not end is ended by the next', async () => {
  const { squadId, members } = await startSquad(server, [begin], {
    background: true
  });
  await until('its process', isLeft);
  // The command ends while no server runs.
  process.kill(server.pid, 'SIGSTOP');
  openGate();
  const { agentId } = members[0] ?? { agentId: '' };
  const chat = join(workspace.record, 'spawns', agentId, 'chat');
  await until('its end', () =>
    /^0\n/.test(readFileSync(join(chat, 'exit'), 'utf8'))
  );
  server.child.kill('SIGKILL');
  await server.exited;
  expect(isLeft()).toBe(true);

  server = await start();
  const results = await waitForSquad(server, squadId);
  expect(results).toMatchObject([{ status: 'interrupted' }]);
  await until('their ends', () => agentsAlive(workspace).length === 0);
  expect(isLeft()).toBe(false);
  expect(program.calls()).toEqual([]);
});

test('a member that never started has no chat to go on with', async () => {
  workspace.write('inner/.keep', '');
  workspace.program(
    'leaver',
    `require('node:fs').rmSync(process.cwd(), { recursive: true });
    console.log('chat-1');`
  );
  const answer = await server.call('start_squad_members', {
    members: [{ ...begin, cwd: 'inner' }]
  });
  const { members } = squadIn(answer);
  expect(members).toMatchObject([{ status: 'error', chatId: null }]);
  expect(members[0]?.error).toContain('is gone');
  expect(members[0]).not.toHaveProperty('message');
});
