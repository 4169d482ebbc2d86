/**
 * The cases that `record-fixtures.mjs` records with the real CLIs. The model
 * server reads a prompt and follows its directives.
 */

const NO_SUCH_SESSION = '00000000-0000-4000-8000-000000000000';
const CLOSED_PORT = 'http://127.0.0.1:9';
const QUOTA = 'You exceeded your current quota, please check your billing.';
const COUNTING = [...Array(10_000).keys()].join(' ');
const UNICODE = 'Grüße — 日本語 👩‍💻 \u2028 \\ "quoted" \t tab';

/** The cases of all CLIs. */
const shared = {
  success: { prompt: '[[say: All done.]] [[usage: 1200 34 200]]' },
  'tool-write': {
    prompt: '[[write: WORKSPACE/note.txt | hello]] [[say: Wrote it.]]'
  },
  'tool-shell': { prompt: '[[shell: echo hi; exit 3]] [[say: It failed.]]' },
  'resume-first': { prompt: '[[say: One.]]' },
  'resume-second': { prompt: '[[say: Two.]]', after: 'resume-first' },
  'status-400': { prompt: '[[status: 400 | Something is wrong]]' },
  'status-401': { prompt: '[[status: 401 | invalid x-api-key]]' },
  'model-not-found': {
    prompt: '[[status: 404 | model: bad-model not found]]',
    model: 'bad-model'
  },
  'status-429': { prompt: '[[status: 429 | Slow down]]' },
  'status-500': { prompt: '[[status: 500 | Broken]]' },
  'retry-then-success': {
    prompt: '[[status: 500 1 | Broken]] [[say: Second time lucky.]]',
    retries: '2'
  },
  'hang-sigterm': { prompt: '[[hang]]', signal: 'SIGTERM', killAfterMs: 2500 },
  'hang-sigint': { prompt: '[[hang]]', signal: 'SIGINT', killAfterMs: 2500 },
  'tool-sigint': {
    prompt: '[[shell: tail -f /dev/null]] [[say: never]]',
    signal: 'SIGINT',
    killAfterMs: 2500
  },
  'dropped-stream': { prompt: '[[say: Half an ans]] [[drop]]' },
  'dropped-once': { prompt: '[[say: Half an ans]] [[drop: 1]] [[say: Rest.]]' },
  'unknown-session': { prompt: 'hello', sessionId: NO_SUCH_SESSION },
  'empty-answer': { prompt: '[[say:]]' },
  'long-answer': { prompt: '[[repeat: 20000 abcdefghi ]]' },
  unicode: { prompt: `[[say: ${UNICODE}]]` },
  'read-denied': {
    prompt: '[[write: WORKSPACE/note.txt | no]] [[say: I could not.]]',
    access: 'read'
  },
  'max-tokens': { prompt: '[[say: Cut o]] [[stop: max_tokens]]' },
  refusal: { prompt: '[[say: No.]] [[stop: refusal]]' }
};

/** Cases at the limits of an access level. */
const limits = {
  'read-outside-denied': {
    prompt: '[[read: /etc/hostname]] [[say: I may not.]]',
    access: 'read'
  },
  'shell-denied': {
    prompt: '[[shell: touch WORKSPACE/out.txt]] [[say: I could not.]]',
    access: 'write'
  },
  'write-allowed': {
    prompt: '[[write: WORKSPACE/note.txt | hello]] [[say: Wrote it.]]',
    access: 'write'
  },
  'write-denied': {
    prompt: '[[write: WORKSPACE/../out.txt | no]] [[say: I could not.]]',
    access: 'write'
  }
};

export const cases = {
  claude: {
    ...shared,
    refused: { prompt: 'hello', baseUrl: CLOSED_PORT },
    'not-logged-in': { prompt: 'hello', noKey: true },
    'usage-limit': { prompt: '[[status: 429 | Usage limit, resets 3pm]]' },
    'read-outside-denied': {
      prompt: '[[read: /etc/hostname]] [[say: I may not.]]',
      access: 'read'
    },
    'credit-too-low': {
      prompt: '[[status: 400 | Your credit balance is too low]]'
    },
    'prompt-too-long': {
      prompt:
        '[[status: 400 | prompt is too long: 208310 tokens > 200000 maximum]]'
    },
    overloaded: { prompt: '[[status: 529 | Overloaded]]' },
    'write-denied': {
      prompt: '[[write: WORKSPACE/../out.txt | no]] [[say: I could not.]]',
      access: 'write'
    },
    'root-refused': { prompt: 'hello', env: { IS_SANDBOX: '' }, rootOnly: true }
  },
  codex: {
    ...shared,
    // Codex waits for the network forever.
    refused: {
      prompt: 'hello',
      baseUrl: CLOSED_PORT,
      signal: 'SIGTERM',
      killAfterMs: 15_000
    },
    'usage-limit': { prompt: '[[status: 429 | The usage limit is reached]]' },
    'not-logged-in': {
      noKey: true,
      prompt: '[[status: 401 | Missing bearer or basic authentication]]'
    },
    quota: { prompt: `[[status: 429 | ${QUOTA}]]` },
    'prompt-too-long': {
      prompt: '[[status: 400 | Your input exceeds the context window.]]'
    },
    'untrusted-directory': {
      prompt: 'hello',
      access: 'read',
      without: '--skip-git-repo-check'
    }
  },
  copilot: {
    ...shared,
    refused: { prompt: 'hello', baseUrl: CLOSED_PORT },
    'not-logged-in': { prompt: 'hello', noKey: true, baseUrl: '' },
    'usage-limit': { prompt: '[[status: 429 | The usage limit is reached]]' },
    quota: { prompt: `[[status: 429 | ${QUOTA}]]` },
    'prompt-too-long': {
      prompt: '[[status: 400 | prompt token count of 9 exceeds the limit of 8]]'
    },
    'no-model': { prompt: 'hello', env: { COPILOT_MODEL: '' } },
    blocked: { prompt: '[[stop: refusal]]' },
    'sub-agent': {
      prompt: `[[tool: task ${JSON.stringify({
        agent_type: 'general-purpose',
        description: 'Ask another',
        name: 'other',
        mode: 'sync',
        prompt: '[[say: From another.]]'
      })}]] [[say: From itself.]]`
    },
    ...limits
  },
  geminiCli: {
    ...shared,
    // Gemini CLI starts slowly.
    'hang-sigterm': { ...shared['hang-sigterm'], killAfterMs: 10_000 },
    'hang-sigint': { ...shared['hang-sigint'], killAfterMs: 10_000 },
    'tool-sigint': {
      // The command outlives Gemini CLI, so it must end by itself.
      prompt: '[[shell: sleep 30]] [[say: never]]',
      signal: 'SIGINT',
      killAfterMs: 10_000
    },
    // Gemini CLI stops a model that repeats itself.
    'long-answer': { prompt: `[[say: ${COUNTING}]]` },
    loop: shared['long-answer'],
    refused: { prompt: 'hello', baseUrl: CLOSED_PORT },
    'not-logged-in': {
      prompt: 'hello',
      noKey: true,
      baseUrl: '',
      settings: {}
    },
    'no-login-chosen': { prompt: 'hello', settings: {} },
    'usage-limit': { prompt: '[[status: 429 | The usage limit is reached]]' },
    quota: { prompt: `[[status: 429 | ${QUOTA}]]` },
    'prompt-too-long': {
      prompt:
        '[[status: 400 | The input token count (9) exceeds the maximum number of tokens allowed (8).]]'
    },
    'model-chosen': { prompt: '[[say: By choice.]]', model: 'flash-lite' },
    blocked: { prompt: '[[stop: refusal]]' },
    'nothing-but-tokens': { prompt: '[[stop: max_tokens]]' },
    'untrusted-directory': {
      prompt: 'hello',
      env: { GEMINI_CLI_TRUST_WORKSPACE: 'false' }
    },
    'plan-mode-denied': {
      prompt: `[[tool: enter_plan_mode {}]]
        [[tool: exit_plan_mode {"plan_filename":"plan.md"}]]
        [[shell: touch WORKSPACE/out.txt]] [[say: I could not.]]`,
      access: 'read'
    },
    ...limits
  }
};
