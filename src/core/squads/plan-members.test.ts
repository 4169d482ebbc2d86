import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import type { ApiEngine, CliEngine } from '../../plugin/plugin.ts';
import { EngineRegistry } from '../engines/engine-registry.ts';
import { HostError } from '../errors.ts';
import { RunStore } from '../runs/run-store.ts';
import { queueTurn } from '../runs/sessions/session-turns.ts';
import { type MemberRequest, planMembers } from './plan-members.ts';
import { RoleRepository } from './role-repository.ts';
import type { SquadSettings } from './settings.ts';

const cli: CliEngine = {
  kind: 'cli',
  name: 'cli',
  description: '',
  command: 'cli',
  args: () => [],
  resumes: true
};
const chatless: CliEngine = { ...cli, name: 'chatless', resumes: false };
const api: ApiEngine = {
  kind: 'api',
  name: 'api',
  description: '',
  keyNames: [],
  generate: () => Promise.reject(new Error('not in this test'))
};

let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
  role('tester', 'You test.');
});

function role(id: string, body: string, head = ''): void {
  workspace.write(`roles/${id}.md`, `---\nname: x\n${head}---\n${body}\n`);
}

function plan(
  requests: MemberRequest[],
  settings: Partial<SquadSettings> = {},
  trusts = true
) {
  const own = join(workspace.path, 'roles');
  const roles = new RoleRepository(
    { builtin: workspace.home, own, within: workspace.path },
    () => undefined,
    () => trusts
  );
  return planMembers(requests, {
    roles,
    registry: new EngineRegistry([cli, chatless, api], {}),
    store,
    workspace: workspace.path,
    settings: {
      stateMode: 'stateless',
      defaultEngine: 'cli',
      timeoutSeconds: 60,
      sequentialDelayMs: 0,
      templateVariables: [],
      ...settings
    },
    maxAccess: 'full',
    unknownRoleHint: 'Call list_roles.'
  });
}

const stateful = { stateMode: 'stateful' } as const;
const member = (changes: Partial<MemberRequest> = {}): MemberRequest => ({
  roleId: 'tester',
  task: 'Test it.',
  ...changes
});

async function refusalOf(planning: Promise<unknown>): Promise<HostError> {
  const error = await planning.then(
    () => undefined,
    (problem: unknown) => problem
  );
  if (error instanceof HostError) return error;
  throw new Error(`It was not refused: ${error}`);
}

describe('a member', () => {
  test('has role, task, directory and prompt as requested', async () => {
    mkdirSync(join(workspace.path, 'src/core'), { recursive: true });
    const [planned] = await plan([member({ cwd: 'src/core' })]);
    expect(planned).toMatchObject({
      role: { id: 'tester' },
      task: 'Test it.',
      cwd: join(workspace.path, 'src/core'),
      shownCwd: 'src/core',
      engine: { name: 'cli' }
    });
    expect(planned?.prompt).toContain('# Role\n\nYou test.\n\n');
    expect(planned).not.toHaveProperty('chat');
    expect(planned).not.toHaveProperty('failure');
  });

  test('is in the root of the workspace by default', async () => {
    const [planned] = await plan([member()]);
    expect(planned).toMatchObject({ cwd: workspace.path, shownCwd: '.' });
  });

  test('of each request comes in its order, with an id of its own', async () => {
    role('critic', 'You doubt.');
    const ids = ['tester', 'critic', 'tester', 'critic'];
    const planned = await plan(
      ids.map((roleId, index) => member({ roleId, task: `Task ${index}` }))
    );
    expect(planned.map((one) => one.role.id)).toEqual(ids);
    expect(planned.map(({ task }) => task)).toEqual(
      ids.map((_, index) => `Task ${index}`)
    );
    expect(new Set(planned.map(({ agentId }) => agentId)).size).toBe(4);
  });

  test('has no chat in stateless mode', async () => {
    const [planned] = await plan([member()], { defaultEngine: 'chatless' });
    expect(planned?.failure).toBeUndefined();
    expect(planned?.prompt).toContain('# Task\n');
  });

  test.each(['', null, undefined])(
    'with the chatId %j gets a new chat',
    async (chatId) => {
      const [planned] = await plan([member({ chatId })], stateful);
      expect(planned).not.toHaveProperty('chat');
      expect(planned?.prompt).toContain('# Initial Task\n');
    }
  );

  test('whose engine keeps no chats has failed in stateful mode alone', async () => {
    const settings = { ...stateful, defaultEngine: 'chatless' };
    const [planned] = await plan([member()], settings);
    expect(planned?.failure).toMatchObject({
      code: 'spawn_failed',
      message: expect.stringContaining('Chatless keeps no chats')
    });
  });
});

describe('a chat', () => {
  const withChat = member({ chatId: 'chat' });

  test('that is continued does not repeat the role', async () => {
    const [planned] = await plan([withChat], stateful);
    expect(planned?.chat).toEqual({ id: 'chat', lastAgent: null });
    expect(planned?.prompt).not.toContain('# Role');
    expect(planned?.prompt).toMatch(/^# Task\n/);
  });

  test('is continued after its last agent that is in the record', async () => {
    for (const id of ['00000001', '00000002', '00000003'])
      queueTurn('cli', 'chat', id, store);
    store.create(recordWith({ agent_id: '00000001' }), 'x', 'x');
    store.create(recordWith({ agent_id: '00000002' }), 'x', 'x');
    const [planned] = await plan([withChat], stateful);
    expect(planned?.chat?.lastAgent).toBe('00000002');
  });

  test('of another engine is not continued', async () => {
    queueTurn('chatless', 'chat', '00000001', store);
    store.create(recordWith({ agent_id: '00000001' }), 'x', 'x');
    const [planned] = await plan([withChat], stateful);
    expect(planned?.chat?.lastAgent).toBeNull();
  });

  describe('of an API', () => {
    const settings = { ...stateful, defaultEngine: 'api' };
    const first = '0badcafe';
    const record = (agent_id: string, changes: object = {}) =>
      store.create(
        recordWith({
          ...{ agent_id, kind: 'api', engine: 'api', in_chat: true },
          ...{ session_id: first },
          ...changes
        }),
        'x',
        'x'
      );
    const continued = (chatId: string) => plan([member({ chatId })], settings);

    test('is that of its first agent', async () => {
      record(first);
      const [planned] = await continued(first);
      expect(planned?.chat).toEqual({ id: first, lastAgent: first });
      store.end(first, outcomeWith());
      expect(await continued(first)).toHaveLength(1);
    });

    test.each([
      ['is not in the record', undefined, {}],
      ['is of another engine', { engine: 'other' }, {}],
      ['was no member of a squad with chats', { in_chat: false }, {}],
      ['has failed', {}, { status: 'failed' }]
    ] as const)(
      'is refused if its first agent %s',
      async (_, changes, outcome) => {
        if (changes) record(first, changes);
        if (changes) store.end(first, outcomeWith(outcome));
        const { code, hint } = await refusalOf(continued(first));
        expect(code).toBe('no_session');
        expect(hint).toBe('Leave chatId out for a new chat.');
      }
    );

    test('is refused by the id of a later agent, and the right one is named', async () => {
      record(first);
      store.end(first, outcomeWith());
      record('00000002');
      const { code, hint } = await refusalOf(continued('00000002'));
      expect(code).toBe('no_session');
      expect(hint).toContain(`give the chat's own chatId, "${first}"`);
    });
  });
});

describe('a request is refused', () => {
  test.each<[string, Partial<MemberRequest>, string, RegExp]>([
    ['an unknown role', { roleId: 'x' }, 'unknown_role', /no role "x"/],
    ['an empty task', { task: '' }, 'invalid_input', /The task is empty/],
    ['a blank task', { task: ' \n\t' }, 'invalid_input', /The task is empty/],
    ['NUL in the task', { task: 'a\0b' }, 'invalid_input', /NUL|U\+0000/i],
    ['NUL in the directory', { cwd: 'a\0b' }, 'invalid_input', /cwd/],
    ['a directory outside', { cwd: '..' }, 'cwd_outside', /outside/],
    ['no such directory', { cwd: 'none' }, 'cwd_missing', /none/],
    ['a flag as chatId', { chatId: '-c' }, 'invalid_input', /is not a chatId/],
    ['a blank chatId', { chatId: ' ' }, 'invalid_input', /is not a chatId/]
  ])('for %s', async (_, changes, code, message) => {
    const error = await refusalOf(plan([member(changes)], stateful));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/^Nothing was started\. members\.0 \("/);
  });

  test('for a role that cannot be read', async () => {
    workspace.write('roles/broken.md', '---\nname: a: b\n---\nYou test.\n');
    const error = await refusalOf(plan([member({ roleId: 'broken' })]));
    expect(error).toMatchObject({
      code: 'unknown_role',
      message: expect.stringContaining('broken.md'),
      hint: expect.stringContaining('The user')
    });
  });

  test('for a role that is not trusted', async () => {
    role('wide', 'You may.', 'access: full\n');
    expect(await plan([member({ roleId: 'wide' })])).toHaveLength(1);
    const error = await refusalOf(
      plan([member({ roleId: 'wide' })], {}, false)
    );
    expect(error).toMatchObject({
      code: 'unknown_role',
      message: expect.stringContaining('wide.md'),
      hint: 'Use another role, or ask the user.'
    });
  });

  test('for an engine that is not offered, of the role or of the settings', async () => {
    role('wanting', 'You want.', 'engine: none\n');
    const ofRole = await refusalOf(plan([member({ roleId: 'wanting' })]));
    expect(ofRole.code).toBe('unknown_engine');
    expect(ofRole.message).toContain('The role wants the engine "none"');
    const ofSettings = await refusalOf(plan([member()], { engine: 'none' }));
    expect(ofSettings.code).toBe('unknown_engine');
    expect(ofSettings.message).toContain('Squads run on "none"');
  });

  test('with the hint that its caller gives for unknown roles', async () => {
    const { hint } = await refusalOf(plan([member({ roleId: 'x' })]));
    expect(hint).toBe('Call list_roles.');
  });
});

describe('of several members at fault', () => {
  test('each is named, and the code is that of the first', async () => {
    const error = await refusalOf(
      plan([
        member(),
        member({ cwd: 'none' }),
        member(),
        member({ roleId: 'x' }),
        member({ roleId: 'y' })
      ])
    );
    expect(error.code).toBe('cwd_missing');
    expect(error.message).toMatch(
      /^Nothing was started\. members\.1 \("tester"\): .* members\.3 \("x"\): .* members\.4 \("y"\): [^:]*$/
    );
    const hints = error.hint.split('Call list_roles.');
    expect(hints).toHaveLength(2);
  });

  test('five are described, and the rest is listed', async () => {
    const unknown = Array.from({ length: 8 }, (_, index) =>
      member({ roleId: `x${index}` })
    );
    const five = await refusalOf(plan(unknown.slice(0, 5)));
    expect(five.message).toContain('members.4 ("x4"): ');
    expect(five.message).not.toContain('Also wrong');
    const { message } = await refusalOf(plan(unknown));
    expect(message).toContain('members.4 ("x4"): ');
    expect(message).toMatch(
      / Also wrong: members\.5, members\.6, members\.7\.$/
    );
  });
});
