import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  httpClient,
  type StartedHttp,
  startHttp
} from '../../kit/servers/http-server.ts';
import { connectStdio } from '../../kit/servers/sdk-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const all = ['delegate', 'second_opinion', 'council', 'squad'];

let workspace: TempWorkspace;
let http: StartedHttp;
const clients: Client[] = [];

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write('agents/zoologist.md', 'You know animals.');
  http = await startHttp(workspace);
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await http.end();
  workspace.remove();
});

async function connected(
  flags: string[] = [],
  clientName?: string,
  program?: string
): Promise<Client> {
  const options = { flags, clientName, program };
  const client = await connectStdio(workspace, options);
  clients.push(client);
  return client;
}

async function namesOf(client: Client): Promise<string[]> {
  return (await client.listPrompts()).prompts.map(({ name }) => name);
}

async function textOf(
  client: Client,
  name: string,
  given: Record<string, string>
): Promise<string> {
  const { messages } = await client.getPrompt({ name, arguments: given });
  const [message, ...others] = messages;
  expect(others).toEqual([]);
  expect(message?.role).toBe('user');
  return message?.content.type === 'text' ? message.content.text : '';
}

async function completed(
  client: Client,
  name: string,
  argument: string,
  value: string
): Promise<string[]> {
  const ref = { type: 'ref/prompt', name } as const;
  const asked = { ref, argument: { name: argument, value } };
  return (await client.complete(asked)).completion.values;
}

const ways = [
  ['stdio', () => connected(['--engines', 'rehearsal,codex,claude'])],
  [
    'HTTP',
    async () => {
      const { sdk } = await httpClient(http);
      clients.push(sdk);
      return sdk;
    }
  ]
] as const;

describe.each(ways)('over %s', (_, connect) => {
  let client: Client;

  beforeAll(async () => {
    client = await connect();
  });

  test('the server announces prompts and completion', () => {
    expect(client.getServerCapabilities()).toMatchObject({
      prompts: {},
      completions: {}
    });
  });

  test('the four prompts are listed with title, description and arguments', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(all);
    for (const { title, description, arguments: its = [] } of prompts) {
      expect(`${title} ${description}`).toMatch(/^[A-Z].+\.$/);
      expect(its.map(({ required }) => required)).toContain(true);
      for (const one of its) expect(one).not.toHaveProperty('default');
    }
  });

  test('a prompt has the values of its arguments, as data', async () => {
    const task = 'Fix it.\n```\n{{engine}} $1';
    const text = await textOf(client, 'delegate', { task, access: 'read' });
    expect(text).toContain(`\n\`\`\`\`text\n${task}\n\`\`\`\`\n`);
    expect(text).toContain('- Engine: not named, choose one yourself\n');
    expect(text).toContain('- Access: `read`\n');
  });

  test.each(all)(
    '%s refuses to come without what it is about',
    async (name) => {
      for (const given of [{}, { task: ' ', question: '\n' }])
        await expect(
          client.getPrompt({ name, arguments: given })
        ).rejects.toMatchObject({ code: -32602 });
      const asked = client.getPrompt({ name });
      await expect(asked).rejects.toThrow(
        /needs its argument "(task|question)"/
      );
    }
  );

  test('an argument that there is not is refused by name', async () => {
    const given = { task: 'a', model: 'b' };
    await expect(
      client.getPrompt({ name: 'delegate', arguments: given })
    ).rejects.toThrow(
      'The prompt delegate has no argument "model". Arguments: task, engine, access.'
    );
  });

  test('an unknown prompt is refused, with the known ones', async () => {
    for (const ask of [
      () => client.getPrompt({ name: 'deploy' }),
      () => completed(client, 'deploy', 'task', '')
    ])
      await expect(ask()).rejects.toThrow(
        'There is no prompt "deploy". Prompts of this server: delegate, second_opinion, council, squad.'
      );
  });

  test('levels of access are completed', async () => {
    expect(await completed(client, 'delegate', 'access', '')).toEqual([
      'read',
      'write',
      'full'
    ]);
    expect(await completed(client, 'delegate', 'access', 'w')).toEqual([
      'write'
    ]);
  });

  test('roles are completed, also workspace roles and after a comma', async () => {
    const roles = (typed: string) => completed(client, 'squad', 'roles', typed);
    expect(await roles('arch')).toEqual(['architect']);
    expect(await roles('architect, zoo')).toEqual(['architect, zoologist']);
    expect(await roles('zoologist,zoo')).toEqual([]);
  });

  test('what is free to say has nothing to complete', async () => {
    expect(await completed(client, 'delegate', 'task', 'Fix')).toEqual([]);
  });
});

test('engines are completed, ready ones first', async () => {
  const client = await connected(['--engines', 'grok,rehearsal,mistral']);
  const none = await completed(client, 'delegate', 'engine', '');
  expect(none).toEqual(['rehearsal', 'grok', 'mistral']);
  expect(await completed(client, 'second_opinion', 'engines', 'grok,')).toEqual(
    ['grok,rehearsal', 'grok,mistral']
  );
});

test('an unknown engine is replaced by the known ones', async () => {
  const client = await connected(['--engines', 'rehearsal,grok']);
  const text = await textOf(client, 'delegate', { task: 'a b', engine: 'x' });
  expect(text).toContain('- Engine: `x` (this server has rehearsal, grok)\n');
});

test.each([
  ['spawn', []],
  ['spawn,runs', ['delegate', 'second_opinion']],
  ['squad,runs', ['squad']],
  ['council', ['council']]
])('with the toolsets %s there are the prompts %j', async (toolsets, names) => {
  const client = await connected(['--toolsets', toolsets]);
  expect(await namesOf(client)).toEqual(names);
});

test.each(['runs', 'orchestrator'])(
  'with the toolset %s alone there are none',
  async (toolset) => {
    const client = await connected(['--toolsets', toolset]);
    expect(client.getServerCapabilities()).not.toHaveProperty('prompts');
  }
);

test('council mcp has the council, under the name that it was given', async () => {
  const program = 'council.cjs';
  const named = await connected(['-n', 'Ada'], undefined, program);
  const { prompts } = await named.listPrompts();
  expect(prompts).toMatchObject([
    { name: 'council', arguments: [{ name: 'question' }] }
  ]);
  expect(await textOf(named, 'council', { question: 'Which one?' })).toContain(
    '(`agent_name`): `Ada` (the server puts it in by itself'
  );
  const free = await connected([], undefined, program);
  const given = { question: 'Which one?', agent_name: 'Bob' };
  expect(await textOf(free, 'council', given)).toContain(
    '(`agent_name`): `Bob`\n'
  );
});

test('for Claude Code the words that it cuts are put together', async () => {
  const client = await connected([], 'claude-code');
  const given = { task: 'Fix', engine: 'the', access: 'parser' };
  const text = await textOf(client, 'delegate', given);
  expect(text).toContain('```text\nFix the parser\n```\n\nThese may be');
  expect(text).toContain('- Engine: not named, choose one yourself\n');
});
