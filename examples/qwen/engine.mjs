/** @type {import('troupe/plugin').CliEngine} */
const engine = {
  kind: 'cli',
  name: 'qwen',
  label: 'Qwen Code',
  description: 'Coding with Qwen models. Reads, writes and runs commands.',
  command: 'qwen',
  install: 'npm install -g @qwen-code/qwen-code',
  // With "write" it edits files anywhere, not only in its directory.
  access: { read: 'enforced', write: 'asked', full: 'enforced' },
  resumes: true,
  tools: (access) => `approval mode ${modes[access]}`,

  args: ({ access, model, sessionId, systemPrompt }) => [
    ...['--output-format', 'stream-json'],
    ...['--approval-mode', modes[access]],
    ...(model ? ['--model', model] : []),
    ...(appended(systemPrompt)
      ? [`--append-system-prompt=${systemPrompt}`]
      : []),
    // With "=", so that an id can never be taken for a flag.
    ...(sessionId ? [`--resume=${sessionId}`] : [])
  ],

  stdin: ({ prompt, systemPrompt }) =>
    systemPrompt && !appended(systemPrompt)
      ? `${systemPrompt}\n\n${prompt}`
      : prompt,

  env: {
    keep: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL', 'DASHSCOPE_*'],
    set: ({ baseUrl }) => (baseUrl ? { OPENAI_BASE_URL: baseUrl } : {})
  },

  read(reply, event) {
    switch (event?.type) {
      case 'system':
        return { ...reply, ...begun(event) };
      case 'assistant':
        return withCall(reply, event.message?.content);
      case 'result':
        return ended(reply, event);
      default:
        return reply;
    }
  },

  failure: codeOf,

  probe: {
    version: ['--version'],
    loginHint: 'Set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.'
  }
};

export default engine;

/** "plan" and "auto-edit" withhold the tools that could do more. */
const modes = { read: 'plan', write: 'auto-edit', full: 'yolo' };

/** Linux takes 128 KiB per argument at most. */
function appended(systemPrompt = '') {
  return systemPrompt !== '' && Buffer.byteLength(systemPrompt) <= 100_000;
}

function begun({ session_id, model }) {
  return {
    ...(typeof session_id === 'string' && { sessionId: session_id }),
    ...(typeof model === 'string' && { model })
  };
}

function withCall(reply, content) {
  const blocks = Array.isArray(content) ? content : [];
  const call = blocks.findLast((block) => block?.type === 'tool_use');
  return call ? { ...reply, progress: action(call.name, call.input) } : reply;
}

function ended(reply, event) {
  const failed = event.is_error !== false || event.subtype !== 'success';
  const said = String(event.error?.message ?? event.result ?? '');
  const input = Number(event.usage?.input_tokens ?? 0);
  const output = Number(event.usage?.output_tokens ?? 0);
  const refused = event.permission_denials ?? [];
  return {
    ...reply,
    finished: true,
    text: failed ? '' : String(event.result ?? ''),
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output
    },
    // A session that goes on counts from its first run.
    usageScope: 'session',
    denials: refused.map((one) => action(one.tool_name, one.tool_input)),
    ...(failed && {
      failure: { code: codeOf(said) ?? 'provider_error', message: said }
    })
  };
}

function codeOf(said) {
  if (/no saved session/i.test(said)) return 'spawn_failed';
  if (/no auth type/i.test(said)) return 'not_logged_in';
  if (/error: 40[13]\b/i.test(said)) return 'auth';
  if (/error: 429\b/i.test(said)) return 'rate_limited';
}

/** "run_shell_command: npm test" */
function action(name, input) {
  const { command, file_path, path, pattern } = input ?? {};
  const detail = command ?? file_path ?? path ?? pattern;
  const line = detail === undefined ? String(name) : `${name}: ${detail}`;
  return line.replace(/\s+/g, ' ').slice(0, 120);
}
