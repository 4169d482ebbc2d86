import type { CliEngine, FailureCode, Reply } from '../src/plugin.ts';
import { held, permissions } from './gemini-cli-limits.ts';
import { connect, interactive } from './gemini-cli-worker.ts';
import {
  beginning,
  count,
  type Fields,
  oneLine,
  record,
  text,
  toolCall
} from './json-fields.ts';
import { failedAgain } from './retries.ts';

const cloud = ['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_*'];

/** Google's Gemini CLI. Reads GEMINI.md from its directory by itself. */
export default {
  kind: 'cli',
  name: 'gemini-cli',
  label: 'Gemini CLI',
  description:
    'Google models with a long context. Reads, writes and runs commands.',
  command: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  models: {
    // Gemini CLI knows these names itself.
    aliases: {
      auto: 'auto',
      pro: 'pro',
      flash: 'flash',
      'flash-lite': 'flash-lite'
    }
  },
  access: { read: held, write: held, full: 'enforced' },
  resumes: true,
  timeoutSeconds: 300,
  // The second failure in a row: ten attempts take minutes.
  retrySeconds: 2,
  tools: (access) =>
    ({ read: 'reading', write: 'reading, editing', full: 'all' })[access],

  args: ({ access, model, sessionId }) => [
    ...['--output-format', 'stream-json'],
    // Nobody's terminal shows this, so that an answer arrives as it is.
    ...['--raw-output', '--accept-raw-output-risk'],
    ...permissions(access),
    ...(model ? ['--model', model] : []),
    // With "=", so that an id can never be taken for a flag.
    ...(sessionId ? [`--resume=${sessionId}`] : [])
  ],

  env: {
    // A login by the browser needs the project, too; that is no secret.
    keep: `CLOUD_SHELL GEMINI_* GOOGLE_API_KEY GOOGLE_CLOUD_LOCATION
      GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_PROJECT_ID GOOGLE_GEMINI_BASE_URL
      GOOGLE_GENAI_*`.split(/\s+/),
    keepIf: {
      GOOGLE_GENAI_USE_VERTEXAI: [...cloud, 'GOOGLE_VERTEX_BASE_URL'],
      GOOGLE_GENAI_USE_GCA: cloud,
      GEMINI_CLI_USE_COMPUTE_ADC: cloud
    },
    // Marks of the session and of the editor that we may be running in.
    drop: `GEMINI_CLI GEMINI_CLI_ACTIVITY_LOG_TARGET GEMINI_CLI_IDE_*
      GEMINI_CLI_NO_RELAUNCH GEMINI_CLI_WORKTREE_HANDLED
      GEMINI_PTY_INFO`.split(/\s+/),
    set: ({ baseUrl }) => ({
      // The host decides where agents work; a folder that is not trusted is
      // refused. `set` wins over `keep`, so a user's "false" is looked up.
      GEMINI_CLI_TRUST_WORKSPACE:
        process.env.GEMINI_CLI_TRUST_WORKSPACE ?? 'true',
      ...(baseUrl
        ? { GOOGLE_GEMINI_BASE_URL: baseUrl, GOOGLE_VERTEX_BASE_URL: baseUrl }
        : {})
    })
  },

  read(before, event) {
    const line = record(event);
    // What has ended has ended.
    if (before.finished) return before;
    const { retrying: _, ...reply } = before;
    switch (line.type) {
      case 'init':
        return { ...reply, ...beginning(line) };
      case 'message':
        if (line.role !== 'assistant') return reply;
        return { ...reply, text: reply.text + text(line.content) };
      case 'tool_use': {
        // What was said before a call is not the answer.
        const progress = toolCall(line.tool_name, line.parameters);
        return { ...reply, text: '', progress };
      }
      case 'tool_result':
        return readToolResult(reply, line);
      case 'error':
        return readError(reply, line);
      case 'result':
        return readResult(reply, line);
      default:
        return reply;
    }
  },

  readError(reply, line) {
    const [, attempt, said = ''] =
      /^Attempt (\d+) failed.*?backoff\.\.\. (.*)/.exec(line) ?? [];
    if (attempt === undefined) return reply;
    const { code } = failureOf(said, 'provider_error');
    const message = /"message":"(.*?)"/.exec(said)?.[1] ?? said;
    const why = { code, message: oneLine(message, 500) };
    const progress = oneLine(`retry ${attempt} after ${why.message}`);
    return { ...failedAgain(reply, why), progress };
  },

  failure: codeOfText,

  connect,
  interactive,

  probe: {
    verified: { oldest: '0.57.0', newest: '0.61.0' },
    loginHint: 'Run "gemini" and sign in, or set GEMINI_API_KEY.'
  }
} satisfies CliEngine;

function readToolResult(reply: Reply, line: Fields): Reply {
  const error = record(line.error);
  const said = text(error.message);
  const outside = /^Path not in workspace: Attempted path "(.+?)" /.exec(said);
  if (!outside && error.type !== 'policy_violation') return reply;
  // Ids begin with the name of the tool.
  const [tool = ''] = text(line.tool_id).split('__');
  const denial = oneLine(outside ? `${tool}: ${outside[1]}` : tool);
  return { ...reply, denials: [...(reply.denials ?? []), denial] };
}

/** Most are remarks; after these the run is over, as a "success" too. */
function readError(reply: Reply, line: Fields): Reply {
  const said = text(line.message);
  const isOver = /^(loop detected|agent execution blocked)/i.test(said);
  if (line.severity !== 'error' && !isOver)
    return { ...reply, progress: oneLine(said) };
  return { ...reply, failure: failureOf(said, 'bad_output') };
}

function readResult(reply: Reply, line: Fields): Reply {
  const stats = record(line.stats);
  const ended = { ...reply, finished: true, ...readStats(stats) };
  const succeeded = line.status === 'success' && !reply.failure;
  if (succeeded) return ended;
  const said = personal(text(record(line.error).message));
  const failure = reply.failure ?? failureOf(said, 'provider_error');
  return { ...ended, text: '', failure };
}

/** The model that did most; a small one may have chosen it. */
function readStats(stats: Fields): Pick<Reply, 'usage' | 'model'> {
  const tokensOf = (value: unknown) => count(record(value).total_tokens);
  const [busiest] = Object.entries(record(stats.models)).sort(
    ([, one], [, other]) => tokensOf(other) - tokensOf(one)
  );
  const usage = {
    prompt_tokens: count(stats.input_tokens),
    completion_tokens: count(stats.output_tokens),
    total_tokens: count(stats.total_tokens)
  };
  return {
    ...(busiest ? { model: busiest[0] } : {}),
    ...(usage.total_tokens > 0 ? { usage } : {})
  };
}

function failureOf(said: string, otherwise: FailureCode) {
  return {
    code: codeOfText(said) ?? otherwise,
    message: oneLine(said, 500) || 'Gemini CLI stopped with an error.'
  };
}

/** `[API Error: {"error":{"code":400,"message":"…","status":"…"}}]` */
function personal(said: string): string {
  return said.replace(/^\[API Error: ([\s\S]*)\]/, '$1');
}

function codeOfText(said: string): FailureCode | undefined {
  return CODES.find(([pattern]) => pattern.test(said))?.[1];
}

/**
 * Words of the CLI, the surest first. It speaks of a quota after each refusal
 * for haste.
 */
const CODES: [RegExp, FailureCode][] = [
  [/set an auth method|invalid auth method|you must specify/i, 'not_logged_in'],
  [/error resuming session|invalid session identifier/i, 'spawn_failed'],
  [/not running in a trusted directory/i, 'permission_denied'],
  [/exceeded your current quota|exhausted your|billing/i, 'quota'],
  [/usage limit|quota exceeded|"code":402\b/i, 'quota'],
  [/token count .{0,40}exceeds|context (window|length)/i, 'context_too_long'],
  [/"code":413\b/i, 'context_too_long'],
  [/models?\b.{0,80}not (found|supported|exist)/i, 'model_not_found'],
  [/"code":404\b|requested entity was not found/i, 'model_not_found'],
  [/api key not valid|"code":40[13]\b|unauthenticated/i, 'auth'],
  [/wait and try again later|"code":429\b|exhausted/i, 'rate_limited'],
  [/blocked due to|prohibited content|recitation/i, 'content_refused'],
  [/exceeded the token limit/i, 'output_limit'],
  [/"code":\d{3}\b/i, 'provider_error'],
  [/^terminated|fetch failed|socket|ECONN|ENOTFOUND/i, 'network']
];
