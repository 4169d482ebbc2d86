import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  refusalOf,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: OrchestratorStage;
let master: McpClient;

beforeAll(async () => {
  stage = createOrchestratorStage('process', {
    config: { plugins: ['./deaf.mjs', './absent.mjs', './asked.mjs'] }
  });
  stage.write('deaf.mjs', engine('deaf', process.execPath, ''));
  const install = "install: 'get absent',";
  stage.write(
    'absent.mjs',
    engine('absent', 'not-on-this-machine', `${connect} ${install}`)
  );
  stage.write(
    'asked.mjs',
    `export default {
      kind: 'api', name: 'asked', description: 'For tests.', keyNames: ['K'],
      models: { default: 'm' }, generate: async () => ({ text: 'x' })
    };\n`
  );
  stage.write('file.txt', 'no folder');
  symlinkSync(stage.home, join(stage.path, 'out'));
  master = await stage.serve({ env: { K: 'a key for tests' } });
});

afterAll(() => stage?.close());

const right = { name: 'a name', role: 'rehearse' };

describe('agent_create refuses', () => {
  test.each<[string, Record<string, unknown>, string, RegExp]>([
    ['no name', { role: 'r' }, 'invalid_input', /"name"/],
    ['no role', { name: 'n' }, 'invalid_input', /"role"/],
    ['an empty name', { ...right, name: ' ' }, 'invalid_input', /"name"/],
    ['a name of lines', { ...right, name: 'a\nb' }, 'invalid_input', /"name"/],
    ['an empty role', { ...right, role: '' }, 'invalid_input', /"role"/],
    [
      'keys it does not know, by name',
      { ...right, rolle: 'r', pane: 1 },
      'invalid_input',
      /"rolle", "pane"/
    ],
    [
      'what is not a variable name',
      { ...right, env: { 'A-B': 'x' } },
      'invalid_input',
      /env.*A-B/
    ],
    [
      'a variable with NUL',
      { ...right, env: { A: 'x\0y' } },
      'invalid_input',
      /env\.A/
    ],
    [
      'a variable that is not text',
      { ...right, env: { A: 1 } },
      'invalid_input',
      /env\.A/
    ],
    ['a cwd outside', { ...right, cwd: '..' }, 'cwd_outside', /outside/],
    ['a cwd of links', { ...right, cwd: 'out' }, 'cwd_outside', /outside/],
    ['a missing cwd', { ...right, cwd: 'nowhere' }, 'cwd_missing', /nowhere/],
    [
      'a file as cwd',
      { ...right, cwd: 'file.txt' },
      'cwd_missing',
      /file\.txt/
    ],
    [
      'an engine nobody knows',
      { ...right, engine: 'hal' },
      'unknown_engine',
      /hal/
    ],
    [
      'an engine that takes no server',
      { ...right, engine: 'deaf' },
      'not_a_worker',
      /deaf cannot be a worker in the background/
    ],
    [
      'an engine that is an API',
      { ...right, engine: 'asked' },
      'not_a_worker',
      /asked cannot be a worker/
    ],
    [
      'an engine that is not installed',
      { ...right, engine: 'absent' },
      'not_installed',
      /not installed.*not-on-this-machine/
    ],
    [
      'a model of the wrong kind',
      { ...right, model: 5 },
      'invalid_input',
      /"model"/
    ],
    [
      'an access there is not',
      { ...right, access: 'root' },
      'invalid_input',
      /"access"/
    ]
  ])('%s', async (_, args, code, words) => {
    const { error_code, error } = await refusalOf(master, 'agent_create', args);
    expect(error).toMatch(words);
    expect(error_code).toBe(code);
    expect(await workersSeen(master, 'all')).toEqual([]);
    expect(stage.processes('')).toEqual([]);
  });

  test('with what installs an engine that is missing', async () => {
    const args = { ...right, engine: 'absent' };
    const { hint } = await refusalOf(master, 'agent_create', args);
    expect(hint).toBe('Install it with: get absent');
  });

  testTmux('an engine that works in no terminal', async () => {
    const other = createOrchestratorStage('tmux', {
      config: { plugins: ['./quiet.mjs'] }
    });
    try {
      other.write('quiet.mjs', engine('quiet', process.execPath, connect));
      const server = await other.serve();
      const args = { ...right, engine: 'quiet' };
      const { error_code, error, hint } = await refusalOf(
        server,
        'agent_create',
        args
      );
      expect(error_code).toBe('not_a_worker');
      expect(error).toContain('quiet cannot be a worker in a pane');
      expect(hint).toContain('rehearsal');
      expect(other.screen().panes()).toHaveLength(1);
    } finally {
      await other.close();
    }
  });
});

describe('the tools of a master refuse', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['agent_list', { scope: 'world' }, /"scope"/],
    ['agent_list', { all: true }, /"all"/],
    ['agent_get', {}, /"agent_id"/],
    ['agent_delete', { agent_id: '0'.repeat(8), force: 1 }, /"force"/],
    ['task_enqueue', { agent_id: '0'.repeat(8) }, /"task"/],
    ['task_enqueue', { agent_id: '0'.repeat(8), task: 'say x' }, /"task"/],
    [
      'task_enqueue',
      { agent_id: '0'.repeat(8), task: { payload: 1, prio: 2 } },
      /"prio" in task/
    ],
    [
      'task_enqueue',
      { agent_id: '0'.repeat(8), task: { task_id: 'a\nb', payload: 1 } },
      /task\.task_id/
    ],
    [
      'task_enqueue',
      { agent_id: '0'.repeat(8), task: { task_id: '', payload: 1 } },
      /task\.task_id/
    ],
    ['task_cancel', { agent_id: '0'.repeat(8) }, /"task_id"/]
  ])('%s with %j', async (tool, args, words) => {
    const { error_code, error } = await refusalOf(master, tool, args);
    expect(error_code).toBe('invalid_input');
    expect(error).toMatch(words);
  });

  test('tasks for workers that there are not', async () => {
    const task = { payload: 'say x' };
    const args = { agent_id: '0'.repeat(8), task };
    const { error_code } = await refusalOf(master, 'task_enqueue', args);
    expect(error_code).toBe('unknown_agent');
    expect(await answerOf(master, 'agent_list')).toEqual({ agents: [] });
  });
});

const connect = 'connect: () => ({ args: [] }),';

function engine(name: string, command: string, more: string): string {
  return `export default {
    kind: 'cli', name: '${name}', description: 'For tests.',
    command: '${command}', ${more} args: () => []
  };\n`;
}
