/** @type {import('troupe/plugin').CliEngine} */
const engine = {
  kind: 'cli',
  name: 'curl-model',
  label: 'Local model',
  description:
    'A local model, asked by curl. Text only: cannot read or change files.',
  command: 'curl',
  models: { default: 'llama3.2' },
  // It has no tools at all.
  access: { read: 'enforced', write: 'enforced', full: 'enforced' },
  tools: () => 'none',

  args: ({ baseUrl = 'http://127.0.0.1:11434/v1' }) => [
    ...['--silent', '--show-error', '--fail-with-body'],
    ...['--noproxy', 'localhost,127.0.0.1'],
    ...['--header', 'content-type: application/json'],
    ...['--data-binary', '@-'],
    ...['--url', `${baseUrl}/chat/completions`]
  ],

  stdin: ({ model, prompt, systemPrompt }) =>
    JSON.stringify({
      model,
      stream: false,
      messages: [
        ...(systemPrompt ? [{ role: 'system', content: systemPrompt }] : []),
        { role: 'user', content: prompt }
      ]
    }),

  // Where a .curlrc with a header for the key may be.
  env: { keep: ['CURL_HOME'] },

  /** The answer is one line of JSON, and so is a refusal. */
  read(reply, event) {
    const said = event?.error?.message ?? event?.error;
    if (said !== undefined) {
      const message = String(said);
      const code = codeOf(`${message} ${event.error?.code ?? ''}`);
      return { ...reply, failure: { code: code ?? 'provider_error', message } };
    }
    const choice = event?.choices?.[0];
    if (typeof choice?.message?.content !== 'string') return reply;
    const answer = {
      ...reply,
      ...(typeof event.model === 'string' && { model: event.model }),
      ...counted(event.usage)
    };
    const { finish_reason: reason } = choice;
    if (reason === 'stop')
      return { ...answer, finished: true, text: choice.message.content };
    const code = reason === 'length' ? 'output_limit' : 'content_refused';
    const message = `The model stopped before the end: ${reason}.`;
    return { ...answer, failure: { code, message } };
  },

  failure: codeOf
};

export default engine;

function counted(usage) {
  if (!Number.isInteger(usage?.total_tokens)) return {};
  const { prompt_tokens, completion_tokens, total_tokens } = usage;
  return { usage: { prompt_tokens, completion_tokens, total_tokens } };
}

/** What curl says on stderr, or the server in its answer. */
function codeOf(said) {
  if (/\b40[13]\b/.test(said)) return 'auth';
  if (/model.{0,60}not found/i.test(said)) return 'model_not_found';
  if (/\b429\b/.test(said)) return 'rate_limited';
  if (/curl: \((5|6|7|28|35|52|56)\)/.test(said)) return 'network';
}
