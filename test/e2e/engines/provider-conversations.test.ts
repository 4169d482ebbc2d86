import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  type ApiWorkspace,
  createApiWorkspace,
  ended,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import { fails, says, saysInHalves } from '../../provider-fake/answers.ts';
import { apiEngines } from '../../provider-fake/asked.ts';

let workspace: ApiWorkspace;
let server: McpClient;

beforeAll(async () => {
  workspace = await createApiWorkspace();
  server = await workspace.start();
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await workspace.close();
});

async function goOn(agent_id: string, prompt: string) {
  const { data, text } = await server.call('continue_agent', {
    agent_id,
    prompt
  });
  expect(data.status, text).toBe('running');
  return ended(server, String(data.agent_id));
}

async function restart(): Promise<void> {
  server.child.kill('SIGKILL');
  await server.exited;
  server = await workspace.start();
}

describe.each(apiEngines)('%s, when an agent is continued,', (engine) => {
  test('gets all that was said, with the system prompt and the model', async () => {
    const fake = workspace.fakes[engine];
    const [one, two, three] = ['One?', 'Two? "한글"', 'Three?'];
    fake.plan(one, says('First.\n'));
    fake.plan(two, says('Second.'));
    const first = await spawnApi(server, engine, one, {
      system_prompt: 'Count.',
      model: 'counter'
    });
    expect(await ended(server, first)).toMatchObject({ session_id: first });
    const second = await goOn(first, two);
    expect(second).toMatchObject({
      status: 'completed',
      session_id: first,
      model: 'counter'
    });
    await restart();
    const third = await goOn(String(second.agent_id), three);
    expect(third).toMatchObject({ status: 'completed', session_id: first });
    expect(fake.asked(three)).toMatchObject([
      {
        model: 'counter',
        system: 'Count.',
        said: [
          { by: 'user', text: one },
          { by: 'model', text: 'First.\n' },
          { by: 'user', text: two },
          { by: 'model', text: 'Second.' },
          { by: 'user', text: three }
        ]
      }
    ]);
  });
});

test('a turn that failed is left out', async () => {
  const { grok } = workspace.fakes;
  grok.plan('A good one', says('Yes.'));
  grok.plan('A bad one', fails('context'));
  const first = await spawnApi(server, 'grok', 'A good one');
  await ended(server, first);
  const failed = await goOn(first, 'A bad one');
  expect(failed).toMatchObject({
    status: 'failed',
    error_code: 'context_too_long'
  });
  const after = await goOn(String(failed.agent_id), 'Another');
  expect(after.status).toBe('completed');
  expect(grok.asked('Another')).toMatchObject([
    {
      said: [{ text: 'A good one' }, { text: 'Yes.' }, { text: 'Another' }]
    }
  ]);
});

test('a conversation whose first turn failed begins with the second', async () => {
  const { gemini } = workspace.fakes;
  gemini.plan('Fail', fails('model'));
  const first = await spawnApi(server, 'gemini', 'Fail');
  expect(await ended(server, first)).toMatchObject({ status: 'failed' });
  expect(await goOn(first, 'Then this')).toMatchObject({
    status: 'completed'
  });
  expect(gemini.asked('Then this')).toMatchObject([
    { said: [{ by: 'user', text: 'Then this' }] }
  ]);
});

test('one turn of a conversation is at work at a time', async () => {
  const { answer, release } = saysInHalves('So', 'on.');
  const { openai } = workspace.fakes;
  openai.plan('Slowly', answer);
  const first = await spawnApi(server, 'openai', 'Begin');
  await ended(server, first);
  const second = await server.call('continue_agent', {
    agent_id: first,
    prompt: 'Slowly'
  });
  const third = await server.call('continue_agent', {
    agent_id: first,
    prompt: 'Meanwhile'
  });
  expect(third.data).toMatchObject({
    status: 'failed',
    error_code: 'session_busy'
  });
  release();
  const id = String(second.data.agent_id);
  expect(await ended(server, id)).toMatchObject({ result: 'Soon.' });
  expect(openai.asked('Meanwhile')).toEqual([]);
});
