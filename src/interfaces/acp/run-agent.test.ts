import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { type AgentRun, runAgent } from './run-agent.ts';

type Fields = Record<string, unknown>;

let folder: string;
let printed: Fields[];
/** The uses of tools that were decided about. */
let asked: [string, Fields][];

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  folder = workspace.path;
  [printed, asked] = [[], []];
});

/** A program that opens a session, and then does this with the prompt. */
function run(script: string, more: Partial<AgentRun> = {}): Promise<number> {
  const program = join(folder, 'program.mjs');
  writeFileSync(
    program,
    `import { createInterface } from 'node:readline';
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
const update = (facts) => send({ method: 'session/update', params: { update: facts } });
const say = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const answers = new Map();
const ask = (id, params, method = 'session/request_permission') => new Promise((resolve) => {
  answers.set(id, resolve);
  send({ id, method, params });
});
const options = [{ optionId: 'a', kind: 'allow_always' }, { optionId: 'o', kind: 'allow_once' }, { optionId: 'r', kind: 'reject_once' }];
createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params, ...answer } = JSON.parse(line);
  if (method === undefined) return answers.get(id)(answer);
  const result = (facts) => send({ id, result: facts });
  const fail = (error) => send({ id, error });
  if (method === 'initialize') return result({ protocolVersion: 1 });
  if (method === 'session/load') setTimeout(say, 200, 'an earlier answer');
  if (method !== 'session/prompt') return result({ sessionId: 's1', models: { currentModelId: 'm' } });
  const words = params.prompt[0].text;
  ${script}
});
`
  );
  return runAgent({
    command: process.execPath,
    args: [program],
    cwd: folder,
    server: { name: 'troupe-ask', command: 'none', args: [] },
    prompt: 'do it',
    sessionId: undefined,
    signal: new AbortController().signal,
    decide: async (tool, input) => {
      asked.push([tool, input]);
      return input.command === 'touch a';
    },
    print: (event) => printed.push(event),
    ...more
  });
}

const ended = { type: 'result', status: 'success' };
const stop = "result({ stopReason: 'end_turn' });";

test('what a program says is printed, with its session and tokens', async () => {
  const code = await run(`say(words); say('!');
    result({ stopReason: 'end_turn', _meta: { quota: {
      token_count: { input_tokens: 2, output_tokens: 3 },
      model_usage: [{ model: 'm', token_count: { input_tokens: 2, output_tokens: 3 } }]
    } } });`);
  expect(code).toBe(0);
  const tokens = { input_tokens: 2, output_tokens: 3, total_tokens: 5 };
  const said = { type: 'message', role: 'assistant', delta: true };
  expect(printed).toEqual([
    { type: 'init', session_id: 's1', model: 'm' },
    { ...said, content: 'do it' },
    { ...said, content: '!' },
    { ...ended, stats: { ...tokens, models: { m: tokens } } }
  ]);
});

const shell = (command: string) =>
  `{ options, toolCall: { toolCallId: 'run_shell_command__1', kind: 'execute', title: '${command}' } }`;

describe('a use of a tool', () => {
  test('that is allowed is allowed once', async () => {
    await run(`const { result: given } = await ask(0, ${shell('touch a')});
      say(JSON.stringify(given.outcome));
      update({ sessionUpdate: 'tool_call_update', toolCallId: 'run_shell_command__1', status: 'completed', content: [] });
      ${stop}`);
    const use = ['run_shell_command', { command: 'touch a' }];
    expect(asked).toEqual([use]);
    expect(printed.slice(1)).toMatchObject([
      { type: 'tool_use', tool_name: use[0], parameters: use[1] },
      { content: '{"outcome":"selected","optionId":"o"}' },
      { type: 'tool_result', status: 'success' },
      ended
    ]);
  });

  test('that is denied is rejected, and shown as denied', async () => {
    await run(`const { result: given } = await ask(0, ${shell('rm a')});
      say(JSON.stringify(given.outcome)); ${stop}`);
    expect(printed.slice(2)).toMatchObject([
      { type: 'tool_result', error: { type: 'policy_violation' } },
      { content: '{"outcome":"selected","optionId":"r"}' },
      ended
    ]);
  });

  test('has the file that it changes', async () => {
    await run(`const content = [{ type: 'diff', path: '/w/a', oldText: 'x', newText: 'y' }];
      const edit = { toolCallId: 'replace__1', kind: 'edit', title: 'a', content };
      await ask(0, { options, toolCall: edit }); ${stop}`);
    expect(asked).toEqual([
      ['replace', { file_path: '/w/a', old_string: 'x', new_string: 'y' }]
    ]);
  });

  test.each([
    ['execute', 'write_file__1', 'run_shell_command', 1],
    // Its request has only a title, which does not show what it does.
    ['other', 'run_shell_command__1', 'other', 0],
    ['fetch', 'web_fetch__1', 'web_fetch', 0]
  ])(
    'of the kind %s and the id %s is %s',
    async (kind, toolCallId, tool, asks) => {
      const call = JSON.stringify({ toolCallId, kind, title: 'x' });
      await run(`await ask(0, { options, toolCall: ${call} }); ${stop}`);
      expect(asked).toHaveLength(asks);
      expect(printed.slice(1)).toMatchObject([
        { type: 'tool_use', tool_name: tool },
        { type: 'tool_result', error: { type: 'policy_violation' } },
        ended
      ]);
    }
  );

  test('is canceled where there is no way to refuse it alone', async () => {
    await run(`const { result: given } = await ask(0, { options: options.slice(0, 2), toolCall: { toolCallId: 'x__1' } });
      say(JSON.stringify(given.outcome)); ${stop}`);
    expect(printed[3]).toMatchObject({ content: '{"outcome":"cancelled"}' });
  });

  test.each([
    ['process.exit(3)', 3],
    ["process.kill(process.pid, 'SIGKILL')", 137]
  ])(
    'is no longer waited for when the program is gone: %s',
    async (end, code) => {
      const decide: AgentRun['decide'] = (_tool, _input, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(false));
        });
      const script = `void ask(0, ${shell('rm a')}); setTimeout(() => ${end}, 100);`;
      expect(await run(script, { decide })).toBe(code);
    }
  );
});

test('what a loaded session repeats is not printed', async () => {
  await run(`say('now'); ${stop}`, { sessionId: 's7' });
  expect(printed).toMatchObject([
    { type: 'init', session_id: 's7' },
    { content: 'now' },
    ended
  ]);
});

test.each([
  ["fail({ code: -32000, message: 'Authentication required.' });", 'Auth'],
  [
    "fail({ code: -32603, message: 'Internal error', data: { details: 'quota exceeded' } });",
    'Internal error: quota exceeded'
  ],
  ["result({ stopReason: 'max_tokens' });", 'token limit']
])('a turn without an answer is a failure: %s', async (script, said) => {
  expect(await run(script)).toBe(0);
  expect(printed.at(-1)).toMatchObject({
    status: 'error',
    error: { message: expect.stringContaining(said) }
  });
});

test('a program that cannot be started has exit code 127', async () => {
  expect(await run('', { command: join(folder, 'none') })).toBe(127);
});

test('what the program may not ask is refused', async () => {
  await run(
    `const { error } = await ask(0, {}, 'fs/read_text_file'); say(error.message); ${stop}`
  );
  expect(printed[1]).toMatchObject({
    content: 'Method not found: fs/read_text_file'
  });
});
