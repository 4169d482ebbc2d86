import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import type {
  ApiEngine,
  CliEngine,
  EngineRequest
} from '../../../plugin/plugin.ts';
import { EngineRegistry } from '../engine-registry.ts';
import { readTemplate } from './template.ts';
import {
  programAt,
  readerOf,
  type TemplateEngineParts,
  templateEngine
} from './template-engine.ts';

const directory = mkdtempSync(join(tmpdir(), 'troupe-template-'));
const path = join(directory, 'run.template');

afterAll(() => rmSync(directory, { recursive: true }));

const agent: CliEngine = {
  kind: 'cli',
  name: 'agent',
  label: 'The Agent',
  description: 'For tests.',
  command: 'agent-cli',
  install: 'install agent-cli',
  args: () => [],
  env: { keep: ['AGENT_KEY'], set: () => ({ QUIET: '1' }) },
  createChat: ['new'],
  oneAtATime: true,
  failure: () => 'quota'
};
const other: CliEngine = {
  kind: 'cli',
  name: 'other',
  description: 'For tests.',
  command: 'other-cli',
  args: () => [],
  env: { keep: ['OTHER_KEY'] }
};
const api: ApiEngine = {
  kind: 'api',
  name: 'api',
  description: 'For tests.',
  keyNames: [],
  generate: async () => ({ text: '', finished: true })
};
const registry = new EngineRegistry([agent, api], {}, [], [other]);

const request: EngineRequest = {
  prompt: 'the prompt',
  cwd: directory,
  access: 'full',
  asRoot: false
};

async function engineOf(
  text: string,
  more: Partial<TemplateEngineParts> = {},
  asked: Partial<EngineRequest> = {}
) {
  writeFileSync(path, text);
  const parts: TemplateEngineParts = {
    name: 'house',
    registry,
    template: await readTemplate(path),
    engineCommand: undefined,
    workspace: '/project',
    variables: ['SOME_VARIABLE'],
    values: { roleId: 'tester', task: 'the task', SOME_VARIABLE: 'set' },
    awaitsChat: false,
    ...more
  };
  return templateEngine(parts, { ...request, ...asked });
}

test('the arguments are rendered from the current request', async () => {
  const engine = await engineOf(
    'x <%= access %> <%= model %> <%= cwd %> <%= chatId %> <%= newChatId %> <%= roleId %> <%= task %> <%= SOME_VARIABLE %>'
  );
  expect(engine).toMatchObject({ name: 'house', command: 'x' });
  const common = [directory, 'tester', 'the task', 'set'];
  const [cwd = '', ...rest] = common;
  expect(engine.args({ ...request, newSessionId: 'n-1' })).toEqual([
    'full',
    cwd,
    'n-1',
    ...rest
  ]);
  const more = { model: 'm', sessionId: 'c-1', access: 'read' } as const;
  expect(engine.args({ ...request, ...more })).toEqual([
    'read',
    'm',
    cwd,
    'c-1',
    ...rest
  ]);
});

test.each([
  ['agent', 'the prompt'],
  ['agent <%= roleId %>', 'the prompt'],
  ['agent <%= prompt %>', ''],
  ['agent <%= task %>', ''],
  ['agent <% if (prompt.length > 5) { %> x <% } %>', '']
])('%j passes %j to stdin', async (text, stdin) => {
  const engine = await engineOf(text);
  expect(engine.stdin?.(request)).toBe(stdin);
});

test('the engine takes a session id when its template uses newChatId', async () => {
  const plain = 'x <% if (chatId) { %> <%= chatId %> <% } %>';
  const choosing = 'x <%= chatId ? chatId : newChatId %>';
  expect(await engineOf(plain)).toMatchObject({ takesSessionId: false });
  expect(await engineOf(choosing)).toMatchObject({ takesSessionId: true });
  expect(await engineOf(choosing, {}, { sessionId: 'c-1' })).toMatchObject({
    takesSessionId: false
  });
});

test('before the chat exists, the template is rendered with a placeholder for its id', async () => {
  const text =
    'x <% if (chatId) { %> "<%= prompt %>" <%= chatId.slice(1) %> <% } %> <%= newChatId %>';
  const engine = await engineOf(text, { awaitsChat: true });
  expect(engine.takesSessionId).toBe(true);
  expect(engine.stdin?.(request)).toBe('');
  expect(engine.args(request)).toHaveLength(2);
  expect(engine.args({ ...request, sessionId: 'c-1' })).toEqual([
    'the prompt',
    '-1'
  ]);
});

test('the requirements of a known program apply under any name', async () => {
  expect(await engineOf('agent-cli x')).toMatchObject({
    name: 'house',
    label: 'house',
    env: { keep: ['AGENT_KEY', 'SOME_VARIABLE'], set: agent.env?.set },
    createChat: ['new'],
    oneAtATime: true,
    install: 'install agent-cli'
  });
  const elsewhere = await engineOf('/opt/bin/other-cli', { name: 'agent' });
  expect(elsewhere).toMatchObject({
    label: 'The Agent',
    env: { keep: ['OTHER_KEY', 'SOME_VARIABLE'] },
    oneAtATime: false
  });
  expect(elsewhere.createChat).toBeUndefined();
  expect(elsewhere.failure?.('')).toBe('quota');
});

test('an unknown program has the environment of the engine it is named after', async () => {
  const wrapper = await engineOf('my-agent', { name: 'agent' });
  expect(wrapper).toMatchObject({
    env: { keep: ['AGENT_KEY', 'SOME_VARIABLE'] },
    oneAtATime: true
  });
  // Only the program's own engine could create chats.
  expect(wrapper.createChat).toBeUndefined();
  expect(wrapper.install).toBeUndefined();
  for (const name of ['api', 'unknown'])
    expect((await engineOf('my-agent', { name })).env).toEqual({
      keep: ['SOME_VARIABLE']
    });
});

test('the user’s program is the first word', async () => {
  const engineCommand = '/opt/agent-cli';
  const engine = await engineOf('run <%= task %>', { engineCommand });
  expect(engine).toMatchObject({ command: engineCommand, oneAtATime: true });
  expect(engine.args(request)).toEqual(['run', 'the task']);
});

test('a relative path of a program is resolved in the workspace', async () => {
  expect(await engineOf('./bin/x y')).toMatchObject({
    command: '/project/bin/x'
  });
  const engineCommand = './bin/x';
  const engine = await engineOf('./bin/x y', { engineCommand });
  expect(engine.command).toBe('/project/bin/x');
  expect(engine.args(request)).toEqual(['y']);
  expect(programAt('x', '/project')).toBe('x');
  expect(programAt('/bin/x', '/project')).toBe('/bin/x');
});

test('the output of a template is plain text, whatever the name of its engine', () => {
  const read = () => ({ text: '', finished: true });
  const events: CliEngine = { ...agent, read, turns: () => [] };
  const named = new EngineRegistry([events], {});
  const record = recordWith({ engine: 'agent' });
  expect(readerOf(record, named)).toMatchObject({ turns: events.turns });
  const reader = readerOf({ ...record, template: 'a.template' }, named);
  expect(reader).not.toHaveProperty('read');
  expect(reader).not.toHaveProperty('turns');
  expect(reader).toMatchObject({ name: 'agent', failure: agent.failure });
});
