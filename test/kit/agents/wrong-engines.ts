import type { Reply } from '../../../src/plugin/plugin.ts';
import { api, program } from './right-engines.ts';

class Instance {
  value = 1;
}
let calls = 0;
const { read } = program;
const plain = (reply: Reply) => reply;

/** A change for the worse, the test that fails, and what it says. */
export const wrongPrograms: [string, object, string, RegExp][] = [
  ['a dash too many', { name: 'x--y' }, 'has a name', /odd dash/],
  [
    'a member that is misspelled',
    { idleTimoutSeconds: 5 },
    'misspells no member',
    /did you mean idleTimeoutSeconds/
  ],
  [
    'a member within another that is misspelled',
    { env: { keeps: ['X'] } },
    'misspells no member',
    /did you mean env\.keep/
  ],
  ['an instance', { mine: new Instance() }, 'is plain data', /right\.mine/],
  [
    'an alias of an alias',
    { models: { aliases: { a: 'b', b: 'c' } } },
    'has aliases',
    /alias a leads to b/
  ],
  [
    'a limit that enforces nothing',
    { args: () => [] },
    'enforces the access',
    /access\.read/
  ],
  [
    'a chat made by the program within the program',
    { createChat: ['right', 'new-chat'] },
    'makes a chat',
    /createChat begins with right/
  ],
  [
    'arguments that differ each time',
    {
      args: () => {
        calls += 1;
        return [
          String(calls),
          [
            'turns that throw',
            { turns: ({ type }: { type: string }) => type.split(' ') && [] },
            'gives plain turns',
            /is at fault: turns/
          ],
          [
            'turns of an unknown kind',
            { turns: () => [{ kind: 'said', text: 'x' }] },
            'gives plain turns',
            /gave back what it may not/
          ],
          [
            'an answer that is given twice',
            {
              turns: (event: { type?: string }) =>
                event?.type === 'said' || event?.type === 'done'
                  ? [{ kind: 'text', text: 'Whole.' }]
                  : []
            },
            'says the answer once',
            /stands there twice/
          ],
          [
            'a transcript without the answer',
            { turns: () => [] },
            'says the answer once',
            /the last text ""/
          ],
          [
            'a result of no call',
            {
              turns: (event: { type?: string; text?: string }) =>
                event?.type === 'said'
                  ? [
                      { kind: 'result', id: '2', text: '' },
                      { kind: 'text', text: String(event.text) }
                    ]
                  : []
            },
            'gives a result for a call',
            /no call 2/
          ]
        ];
      }
    },
    'makes the same start',
    /./
  ],
  [
    'a request that is changed',
    { args: (request: object) => [String(Object.assign(request, { a: 1 }))] },
    'makes the same start',
    /./
  ],
  [
    'the prompt in argv',
    { args: ({ prompt }: { prompt: string }) => [prompt] },
    'keeps the prompt out',
    /belongs into stdin/
  ],
  [
    'a prompt that is trimmed',
    { stdin: ({ prompt }: { prompt: string }) => prompt.trim() },
    'gives the prompt on stdin',
    /as it is/
  ],
  [
    'a system prompt that is lost',
    { stdin: ({ prompt }: { prompt: string }) => prompt },
    'passes a system prompt',
    /neither/
  ],
  [
    'a long system prompt in argv',
    { args: ({ systemPrompt = '' }) => ['-s', systemPrompt] },
    'keeps every argument',
    /200000 bytes/
  ],
  [
    'a key in argv',
    {
      env: { keep: ['RIGHT_*'] },
      args: () => [`--key=${process.env.RIGHT_API_KEY}`]
    },
    'puts no key',
    /a key is in/
  ],
  [
    'a session that is not named as told',
    { takesSessionId: true },
    'gives a new session',
    /newSessionId reaches/
  ],
  [
    'an answer on stderr',
    { readError: (reply: Reply) => ({ ...reply, text: 'x' }) },
    'takes progress and retries',
    /after ""/
  ],
  [
    'a model that is split',
    { args: ({ model = '' }) => model.split(' ') },
    'keeps each value',
    /changes the arguments/
  ],
  [
    'a session that may be a flag',
    { args: ({ sessionId = '' }) => ['resume', sessionId] },
    'continues the session',
    /would be a flag/
  ],
  [
    'a model that is lost',
    { args: ({ access = '' }) => [access] },
    'passes a model',
    /neither/
  ],
  [
    'a switch that the program never sees',
    {
      env: { keepIf: { RIGHT_CLOUD: ['CLOUD_*'] }, drop: ['RIGHT_CLOUD'] }
    },
    'gets what env.keepIf names',
    /RIGHT_CLOUD is not handed on/
  ],
  [
    'credentials that no switch holds back',
    { env: { keepIf: { RIGHT_CLOUD: ['XDG_*'] } } },
    'gets what env.keepIf names',
    /while RIGHT_CLOUD is undefined/
  ],
  ['a number in argv', { args: () => [7] }, 'gives arguments', /\[0\]/],
  [
    'any text as an end',
    { read: () => ({ text: 'x', finished: true }) },
    'passes over events',
    /./
  ],
  [
    'every message as the end',
    {
      read: (reply: Reply, event: unknown) => {
        const next = read?.(reply, event) ?? reply;
        return next.text ? { ...next, finished: true } : next;
      }
    },
    'takes no output that is cut off',
    /cut off is taken for a success \(success\)/
  ],
  [
    'a failure that is forgotten',
    {
      read: (reply: Reply, event: unknown) => {
        const { failure, ...rest } = read?.(reply, event) ?? reply;
        return rest;
      }
    },
    'stays failed',
    /forgotten/
  ],
  [
    'an event that throws',
    {
      read: (reply: Reply, event: { message: { content: string } }) =>
        event.message.content ? reply : reply
    },
    'gives a whole reply',
    /seed \d+.*|at fault: read threw/
  ],
  ['a session unheard', { read: plain }, 'reads its recording "succ', /./],
  ['tools without a name', { tools: () => 7 }, 'names its tools', /tools/],
  ['a code of its own', { failure: () => 'oops' }, 'reads any text', /failure/]
];

export const wrongApis: [string, object, string, RegExp][] = [
  [
    'a key without a name',
    { keyNames: ['my key'] },
    'names its keys',
    /my key/
  ],
  [
    'a fetch of its own',
    { generate: async () => (await fetch('http://127.0.0.1:9')).json() },
    'asks once',
    /requests/
  ],
  [
    'an address from the environment',
    {
      generate: (request: { baseUrl?: string }, tools: never) => {
        const { RIGHT_KEY_BASE_URL: named, OPENAI_BASE_URL: usual } =
          process.env;
        const baseUrl = request.baseUrl ?? named ?? usual;
        return api.generate({ ...Object(request), baseUrl }, tools);
      }
    },
    'lets no variable',
    /depends on the environment/
  ],
  [
    'a prompt alone',
    {
      generate: (request: object, tools: never) =>
        api.generate({ ...Object(request), turns: [] }, tools)
    },
    'passes on all',
    /asked is not/
  ],
  [
    'no ear for the end',
    { generate: () => Promise.resolve({ text: 'x', finished: true }) },
    'takes no error',
    /status 500 is a success/
  ],
  [
    'half an answer',
    {
      generate: async (_: never, tools: { fetch: typeof fetch }) => {
        const body = await (await tools.fetch('http://127.0.0.1:9')).text();
        const text = /"text":"([^"]*)/.exec(body)?.[1] ?? '';
        return { text, finished: true };
      }
    },
    'takes no answer that is cut off',
    /first \d+ characters of success are a whole answer/
  ],
  [
    'its key in the answer',
    {
      generate: async (request: never, tools: { apiKey: string }) => ({
        ...(await api.generate(request, Object(tools))),
        text: tools.apiKey
      })
    },
    'gives back whole replies',
    /key is in/
  ]
];
