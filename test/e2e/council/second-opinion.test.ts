import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { questionPrompt } from '../../../src/core/opinions/second-opinion.ts';
import { recordingsOf } from '../../kit/agents/recordings.ts';
import { type StandIn, standIn } from '../../kit/agents/stand-in.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import {
  fails,
  type ProviderAnswer,
  says
} from '../../provider-fake/answers.ts';
import {
  type ProviderFake,
  startProviderFake
} from '../../provider-fake/fake.ts';

const names = ['grok', 'gemini', 'mistral'] as const;

let workspace: TempWorkspace;
let server: McpClient;
let claude: StandIn;
let fakes: Record<(typeof names)[number], ProviderFake>;

beforeAll(async () => {
  workspace = createTempWorkspace();
  fakes = {
    grok: await startProviderFake('grok'),
    gemini: await startProviderFake('gemini'),
    mistral: await startProviderFake('mistral')
  };
  claude = standIn(workspace, 'claude');
  claude.says(
    recordingsOf('claude').find((one) => one.case === 'success')?.stdout ?? ''
  );
  workspace.program(
    'slow-program',
    `const fs = require('node:fs');
    fs.readFileSync(0);
    fs.writeFileSync('asked', '');
    setInterval(() => {
      if (!fs.existsSync('go')) return;
      console.log('Because.\\nVERDICT: from a program');
      process.exit(0);
    }, 10);`
  );
  workspace.write(
    'slow.mjs',
    `export default { kind: 'cli', name: 'slow', description: 'For tests.',
      command: 'slow-program', args: () => [] };`
  );
  configure();
  server = await startServer(workspace);
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  await server.close();
  for (const fake of Object.values(fakes)) await fake.close();
  workspace.remove();
});

function configure(): void {
  const engines = Object.fromEntries(
    Object.entries(fakes).map(([name, { url }]) => [name, { baseUrl: url }])
  );
  const config = JSON.stringify({ plugins: ['./slow.mjs'], engines });
  workspace.write('troupe.config.json', config);
  const keys = {
    XAI_API_KEY: fakes.grok.key,
    GEMINI_API_KEY: fakes.gemini.key,
    MISTRAL_API_KEY: fakes.mistral.key
  };
  workspace.write('api_keys.json', JSON.stringify(keys));
}

async function ask(input: Record<string, unknown>) {
  const { data } = await server.call('second_opinion', input);
  const opinions = Array.isArray(data.opinions) ? data.opinions : [];
  return { status: data.status, opinions };
}

/** Answers on request only; resolves when it is asked. */
function held(name: (typeof names)[number], prompt: string, text: string) {
  let release = () => undefined as unknown;
  const asked = new Promise<void>((resolve) => {
    const answer: ProviderAnswer = (exchange) => {
      release = () => says(text)(exchange);
      resolve();
    };
    fakes[name].plan(prompt, answer);
  });
  return { asked, release: () => release() };
}

test('all engines are at work at once, and each answer is its own', async () => {
  const question = 'Who goes first?';
  const prompt = questionPrompt(question, []);
  const gates = names.map((name) => held(name, prompt, `VERDICT: ${name}`));
  const answer = ask({ question, engines: [...names, 'slow'] });
  // No expert is answered before all were asked.
  await Promise.all(gates.map(({ asked }) => asked));
  await until('the program to be asked', () =>
    existsSync(join(workspace.path, 'asked'))
  );
  for (const gate of gates) gate.release();
  workspace.write('go', '');
  const { opinions, status } = await answer;
  expect(status).toBe('all_completed');
  expect(opinions.map(({ engine, verdict }) => [engine, verdict])).toEqual([
    ['grok', 'grok'],
    ['gemini', 'gemini'],
    ['mistral', 'mistral'],
    ['slow', 'from a program']
  ]);
});

test('one that fails never spoils the rest', async () => {
  const question = 'And if one fails?';
  const prompt = questionPrompt(question, []);
  const tokens = { input: 1000, output: 100, cached: 0 };
  fakes.grok.plan(prompt, fails('key'));
  fakes.gemini.plan(
    prompt,
    says('Sure.\n\n**VERDICT:** it goes on', {
      model: 'gemini-3.8-flash',
      tokens
    })
  );
  const { status, opinions } = await ask({
    question,
    engines: ['grok', 'gemini', 'codex']
  });
  expect(status).toBe('all_completed');
  expect(opinions).toMatchObject([
    { engine: 'grok', status: 'failed', error_code: 'auth', verdict: null },
    {
      ...{ engine: 'gemini', status: 'completed', model: 'gemini-3.8-flash' },
      ...{ answer: 'Sure.\n\n**VERDICT:** it goes on', verdict: 'it goes on' },
      ...{ cost_usd: 0.001125, error: null, read_only: 'enforced' },
      seconds: expect.any(Number)
    },
    { engine: 'codex', status: 'failed', error_code: 'not_installed' }
  ]);
});

test('files, system prompt and read-only access reach the engines', async () => {
  workspace.write('src/a.ts', 'const a = 1;\n');
  await ask({
    question: 'Is a right?',
    engines: ['mistral', 'claude'],
    system_prompt: 'Be brief.',
    context_files: ['src/a.ts']
  });
  const prompt = questionPrompt('Is a right?', [
    { path: 'src/a.ts', text: 'const a = 1;\n' }
  ]);
  const [asked] = fakes.mistral.asked(prompt);
  expect(asked?.system).toBe('Be brief.');
  expect(claude.seen().stdin.toString()).toBe(prompt);
  expect(claude.seen().argv).toContain('dontAsk');
});

test('long answers share the room, and keep their verdict', async () => {
  const question = 'At length?';
  const prompt = questionPrompt(question, []);
  const text = `${'x'.repeat(30_000)}\nVERDICT: so\n${'y'.repeat(30_000)}`;
  fakes.grok.plan(prompt, says(text));
  fakes.mistral.plan(prompt, says(text));
  const { opinions } = await ask({ question, engines: ['grok', 'mistral'] });
  expect(opinions.map(({ verdict }) => verdict)).toEqual(['so', 'so']);
  const [first] = opinions;
  expect(String(first?.answer).length).toBeLessThanOrEqual(10_000);
  const offset = Number(first?.next_offset);
  const more = { agent_id: first?.agent_id, offset };
  const { data } = await server.call('result', more);
  expect(data.result).toBe(text.slice(offset, offset + 20_000));
});

test('one that does not end in time is stopped, and the rest are returned', async () => {
  const question = 'Still there?';
  held('grok', questionPrompt(question, []), 'never');
  const { opinions } = await ask({
    question,
    engines: ['grok', 'gemini'],
    timeout: 2
  });
  expect(opinions).toMatchObject([
    { engine: 'grok', status: 'timeout', error_code: 'timeout' },
    { engine: 'gemini', status: 'completed', answer: 'ok', verdict: null }
  ]);
});

test('without names, up to three that are ready are asked, APIs first', async () => {
  const { opinions } = await ask({ question: 'Who is there?' });
  expect(opinions.map(({ engine }) => engine)).toEqual([
    'gemini',
    'grok',
    'mistral'
  ]);
});

test.each([
  [{ engines: ['grok', 'nobody'] }, 'unknown_engine'],
  [{ context_files: ['../outside'] }, 'invalid_input'],
  [{ context_files: ['api_keys.json'] }, 'invalid_input'],
  [{ engines: [] }, 'invalid_input'],
  [{ prompt: 'x' }, 'invalid_input'],
  [{ question: ' \n' }, 'invalid_input']
])('%j is invalid, and no expert is asked', async (input, code) => {
  const before = fakes.grok.requests.length;
  const asked = await server.call('second_opinion', {
    question: 'Who is there?',
    ...input
  });
  expect(asked).toMatchObject({ isError: true, data: { error_code: code } });
  expect((await server.call('list')).data).toMatchObject({ running: [] });
  expect(fakes.grok.requests).toHaveLength(before);
});

test('without any engine that is ready it says so', async () => {
  const empty = createTempWorkspace();
  const lonely = await startServer(empty);
  const answer = await lonely.call('second_opinion', { question: 'Anybody?' });
  expect(answer).toMatchObject({
    isError: true,
    data: { error_code: 'no_engine' }
  });
  await lonely.close();
  empty.remove();
});
