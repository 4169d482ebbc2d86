import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { type Client, clients } from '../clients/clients.ts';
import { checkServer, environmentOf } from './server-check.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

function client(name: string): Client {
  const found = clients.find((one) => one.name === name);
  if (!found) throw new Error(`no client ${name}`);
  return found;
}

function check(body: string, limitMs = 20_000) {
  const command = workspace.program('server', body);
  const entry = { command, args: ['mcp'] };
  const path = workspace.path;
  return checkServer({
    client: client('claude'),
    entry,
    workspace: path,
    limitMs
  });
}

test('a server that does not answer in time is killed', async () => {
  expect(await check('setInterval(() => {}, 1000)', 500)).toEqual({
    ok: false,
    problem: 'It said nothing for 1 s.',
    next: expect.stringMatching(/\/bin\/server'? mcp$/)
  });
});

test.each([
  [
    'console.error("troupe: This is why.\\nnot this"); process.exit(1)',
    'This is why.'
  ],
  ['console.error("a\\nlast"); process.exit(1)', 'last'],
  ['process.exit(3)', 'it ended with exit code 3'],
  ['process.kill(process.pid, "SIGKILL")', 'it ended by SIGKILL'],
  [
    'process.stdin.once("data", () => console.log(JSON.stringify({jsonrpc: "2.0", id: 1, error: {code: 1, message: "No."}})))',
    'No.'
  ]
])(
  'the reason that a server does not start is reported: %s',
  async (body, reason) => {
    expect(await check(body)).toMatchObject({
      ok: false,
      problem: `It does not start: ${reason}`
    });
  }
);

test('the command that starts a server by hand is quoted for a shell', async () => {
  const command = workspace.program('server', 'process.exit(3)');
  const args = ["it's", 'say "hi"', '$HOME `id` \\', '', "'"];
  const checked = await checkServer({
    client: client('claude'),
    entry: { command, args },
    workspace: workspace.path
  });
  const next = 'next' in checked ? checked.next : '';
  const [, words = ''] = next.split('see more: ');
  const printed = execFileSync('sh', ['-c', `printf '%s\\n' ${words}`], {
    encoding: 'utf8'
  });
  expect(printed.split('\n')).toEqual([command, ...args, '']);
});

test('a request of the server is not taken for an answer', async () => {
  const body = `
    const say = (message) => console.log(JSON.stringify(message));
    require('node:readline').createInterface(process.stdin).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      say({ jsonrpc: '2.0', id, method: 'ping' });
      say({ jsonrpc: '2.0', id, result: { tools: [{ name: method }] } });
    });`;
  expect(await check(body)).toMatchObject({ ok: true, tools: ['tools/list'] });
});

test('a process that a server leaves behind does not delay the check', async () => {
  const file = join(workspace.path, 'left');
  const body = `
    const { spawn } = require('node:child_process');
    const left = spawn('sleep', ['60'], { detached: true, stdio: 'inherit' });
    require('node:fs').writeFileSync('${file}', String(left.pid));
    left.unref();
    process.stdin.on('end', () => process.exit()).on('data', (text) => {
      for (const line of String(text).trim().split('\\n')) {
        const { id } = JSON.parse(line);
        console.log(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
      }
    });`;
  const checked = check(body);
  try {
    expect(await checked).toMatchObject({ ok: true });
  } finally {
    process.kill(Number(readFileSync(file, 'utf8')));
  }
});

test('a missing program is reported as missing', async () => {
  const entry = { command: 'no-such-program', args: ['mcp'] };
  const path = workspace.path;
  const start = { client: client('codex'), entry, workspace: path };
  expect(await checkServer(start)).toMatchObject({
    problem:
      'The program "no-such-program" is not on the PATH that Codex hands on.'
  });
});

test('variables in an entry are expanded as the client expands them', () => {
  const env = {
    A: '$KEY',
    B: '${KEY}',
    C: '${NONE:-other}',
    D: '${env:KEY} ${workspaceFolder}'
  };
  const own = {
    KEY: 'k',
    npm_execpath: '/npm',
    PATH: ['/npx/node_modules/.bin', '/bin'].join(':')
  };
  expect(environmentOf(client('cursor'), { env }, '/project', own)).toEqual({
    KEY: 'k',
    PATH: '/bin',
    ...{ A: 'k', B: 'k', C: 'other', D: 'k /project' }
  });
  expect(environmentOf(client('copilot'), {}, '/project', own)).toEqual({
    PATH: '/bin'
  });
  const { npm_execpath: _, ...shell } = own;
  const kept = environmentOf(client('copilot'), {}, '/project', shell);
  expect(kept).toEqual({ PATH: own.PATH });
});
