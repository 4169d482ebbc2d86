import type { ApiEngine, CliEngine } from '../../../src/plugin/plugin.ts';
import type { Fixture } from '../../contract/engine-contract.ts';

/** Does all as it should. */
export const program: CliEngine = {
  kind: 'cli',
  name: 'right',
  description: 'Does all as it should.',
  command: 'right',
  access: { read: 'enforced', write: 'asked', full: 'asked' },
  models: { aliases: { fast: 'fast-1' } },
  resumes: true,
  args: ({ access, model, sessionId }) => [
    `--sandbox=${access}`,
    ...(model ? ['--model', model] : []),
    ...(sessionId ? [`--resume=${sessionId}`] : [])
  ],
  connect: (server, directory) => ({
    args: [`--servers=${directory}/servers.json`],
    files: { 'servers.json': JSON.stringify(server) }
  }),
  interactive: {
    args: ({ access, prompt }) => [`--sandbox=${access}`, '--', prompt]
  },
  read: (reply, event) => {
    const { type, text } = { type: '', text: '', ...Object(event) };
    if (type === 'session') return { ...reply, sessionId: String(text) };
    if (type === 'said') return { ...reply, text: String(text) };
    return type === 'done' ? { ...reply, finished: true } : reply;
  },
  turns: (event) => {
    const { type, text } = { type: '', text: '', ...Object(event) };
    if (type === 'said') return [{ kind: 'text', text: String(text) }];
    if (type !== 'ran') return [];
    return [
      { kind: 'tool', id: '1', name: 'run', input: String(text) },
      { kind: 'result', id: '1', text: '' }
    ];
  }
};

/** Asks as it should. */
export const api: ApiEngine = {
  kind: 'api',
  name: 'right-api',
  description: 'Asks as it should.',
  keyNames: ['RIGHT_KEY'],
  generate: async (request, { apiKey, signal, fetch }) => {
    const response = await fetch(`${request.baseUrl}/ask`, {
      method: 'POST',
      body: JSON.stringify(request),
      headers: { authorization: `Bearer ${apiKey}` },
      signal
    });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const { text, done } = Object(await response.json());
    return { text: String(text ?? ''), finished: done === true };
  }
};

const lines = [
  { type: 'session', text: 'the-session' },
  { type: 'said', text: 'Half' },
  { type: 'ran', text: 'npm test' },
  { type: 'said', text: 'Whole.' },
  { type: 'done' }
];
export const outputs: Fixture[] = [
  {
    case: 'success',
    stdout: lines.map((line) => JSON.stringify(line)).join('\n'),
    expected: { status: 'completed', text: 'Whole.', sessionId: 'the-session' }
  },
  {
    case: 'refused',
    stdout: '',
    stderr: 'not logged in',
    exitCode: 1,
    expected: { status: 'failed', error_code: 'not_logged_in' }
  }
];
export const answers: Fixture[] = [
  {
    case: 'success',
    stream: false,
    response: { body: '{"text":"Whole.","done":true}' },
    expected: { status: 'completed', text: 'Whole.' }
  }
];
