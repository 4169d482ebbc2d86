/** @type {import('troupe/plugin').CliEngine} */
const engine = {
  kind: 'cli',
  name: 'opencode',
  label: 'OpenCode',
  description: 'Coding with any model. Reads, writes and runs commands.',
  command: 'opencode',
  install: 'npm install -g opencode-ai',
  access: { read: 'enforced', write: 'enforced', full: 'enforced' },
  resumes: true,
  tools: (access) => (access === 'full' ? 'all' : `permissions ${access}`),

  args: ({ access, model, sessionId }) => [
    ...['run', '--format', 'json'],
    // What it would ask for is refused otherwise: nobody can answer.
    ...(access === 'full' ? ['--auto'] : []),
    ...(model ? ['--model', model] : []),
    // With "=", so that an id can never be taken for a flag.
    ...(sessionId ? [`--session=${sessionId}`] : [])
  ],

  env: {
    keep: [
      'OPENCODE_API_KEY',
      'OPENCODE_CONFIG',
      'OPENCODE_CONFIG_DIR',
      'ANTHROPIC_API_KEY',
      'OPENAI_API_KEY',
      'GEMINI_API_KEY'
    ],
    set: ({ access }) => permissions(access)
  },

  read(reply, event) {
    const part = event?.part ?? {};
    const id = typeof event?.sessionID === 'string' ? event.sessionID : '';
    const next = { ...reply, ...(id && { sessionId: id }) };
    switch (event?.type) {
      case 'step_start':
        // Only what is said in the last step is the answer.
        return { ...next, text: '', finished: false };
      case 'text':
        return { ...next, text: reply.text + String(part.text ?? '') };
      case 'tool_use':
        return { ...next, progress: action(part) };
      case 'step_finish':
        return { ...next, ...added(reply, part), ...ending(part.reason) };
      case 'error':
        return { ...next, failure: reply.failure ?? failureOf(event.error) };
      default:
        return reply;
    }
  },

  failure: codeOf,

  probe: {
    version: ['--version'],
    loginHint: 'Run "opencode auth login", or set the key of a provider.'
  }
};

export default engine;

/** Below full access the tools that could do more are taken away. */
function permissions(access) {
  if (access === 'full') return {};
  const deny = { bash: 'deny', task: 'deny', external_directory: 'deny' };
  const permission = access === 'read' ? { ...deny, edit: 'deny' } : deny;
  return { OPENCODE_PERMISSION: JSON.stringify(permission) };
}

/** There is no last event, but each step says why it ended. */
function ending(reason) {
  if (reason === 'tool-calls') return {};
  if (reason === 'stop') return { finished: true };
  const code =
    { length: 'output_limit', 'content-filter': 'content_refused' }[reason] ??
    'provider_error';
  return { failure: { code, message: `OpenCode stopped: ${reason}.` } };
}

/** Each step counts its own tokens and cost. */
function added({ usage, costUsd = 0 }, { tokens = {}, cost = 0 }) {
  const { input = 0, output = 0, reasoning = 0, cache = {} } = tokens;
  const read = input + (cache.read ?? 0) + (cache.write ?? 0);
  const prompt_tokens = (usage?.prompt_tokens ?? 0) + read;
  const completion_tokens =
    (usage?.completion_tokens ?? 0) + output + reasoning;
  const total_tokens = prompt_tokens + completion_tokens;
  return {
    usage: { prompt_tokens, completion_tokens, total_tokens },
    costUsd: costUsd + cost
  };
}

function failureOf(error) {
  const { message, statusCode } = error?.data ?? {};
  const said = String(message ?? error?.name ?? 'OpenCode stopped.');
  const code = codeOf(`${said} (status ${statusCode})`);
  return { code: code ?? 'provider_error', message: said };
}

function codeOf(said) {
  if (/session not found/i.test(said)) return 'spawn_failed';
  if (/content filter/i.test(said)) return 'content_refused';
  if (/status 40[13]/.test(said)) return 'auth';
  if (/status 429/.test(said)) return 'rate_limited';
  if (/cannot connect|connection/i.test(said)) return 'network';
}

/** "bash: npm test" */
function action({ tool = 'tool', state }) {
  const { command, filePath, pattern } = state?.input ?? {};
  const detail = command ?? filePath ?? pattern;
  const line = detail === undefined ? tool : `${tool}: ${detail}`;
  return line.replace(/\s+/g, ' ').slice(0, 120);
}
