import type {
  Access,
  CliEngine,
  FailureCode,
  Reply
} from '../src/plugin/plugin.ts';
import { askingMode, connect, interactive } from './gemini-cli-worker.ts';
import { reportingEdits, withCall, withEdits } from './shared/edits.ts';
import { enforcement, permissions } from './shared/gemini-cli-limits.ts';
import {
  beginning,
  count,
  type Fields,
  record,
  shortLine,
  text,
  toolCall
} from './shared/json-fields.ts';
import { failedAgain, waits } from './shared/retries.ts';
import { geminiCliTurns } from './turns/gemini-cli-turns.ts';

const reading = `glob google_web_search grep_search list_directory read_file
  read_many_files search_file_content web_fetch write_todos`.split(/\s+/);
const writing = ['write_file', 'replace'];

/** Prints events, without anybody to ask. */
function printing(access: Access): string[] {
  return [
    ...['--output-format', 'stream-json'],
    // No terminal shows this output, so the answer may arrive unescaped.
    ...['--raw-output', '--accept-raw-output-risk'],
    ...permissions(access)
  ];
}

const cloud = ['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_*'];

/** Google's Gemini CLI. Reads GEMINI.md from its directory by itself. */
export default {
  kind: 'cli',
  name: 'gemini-cli',
  label: 'Gemini CLI',
  description: 'Google models with a long context.',
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
  access: { read: enforcement, write: enforcement, full: 'enforced' },
  resumes: true,
  timeoutSeconds: 300,
  // Ends a run at its second failure in a row: ten attempts take minutes.
  retrySeconds: 2,
  tools: (access) =>
    ({ read: 'reading', write: 'reading, editing', full: 'all' })[access],

  args: ({ access, asks, model, sessionId }) => [
    ...(asks ? ['--acp', ...askingMode(access)] : printing(access)),
    ...(model ? ['--model', model] : []),
    // With "=", so that an id can never be taken for a flag.
    ...(sessionId && !asks ? [`--resume=${sessionId}`] : [])
  ],

  env: {
    // A browser login needs the project, too, which is not a secret.
    keep: `CLOUD_SHELL GEMINI_* GOOGLE_API_KEY GOOGLE_CLOUD_LOCATION
      GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_PROJECT_ID GOOGLE_GEMINI_BASE_URL
      GOOGLE_GENAI_*`.split(/\s+/),
    keepIf: {
      GOOGLE_GENAI_USE_VERTEXAI: [...cloud, 'GOOGLE_VERTEX_BASE_URL'],
      GOOGLE_GENAI_USE_GCA: cloud,
      GEMINI_CLI_USE_COMPUTE_ADC: cloud
    },
    // Markers of a session or an editor in which troupe may be running.
    drop: `GEMINI_CLI GEMINI_CLI_ACTIVITY_LOG_TARGET GEMINI_CLI_IDE_*
      GEMINI_CLI_NO_RELAUNCH GEMINI_CLI_WORKTREE_HANDLED
      GEMINI_PTY_INFO`.split(/\s+/),
    set: ({ baseUrl }) => ({
      // The host decides where agents work, and Gemini CLI refuses an untrusted
      // folder. `set` overrides `keep`, so a user's "false" is read here.
      GEMINI_CLI_TRUST_WORKSPACE:
        process.env.GEMINI_CLI_TRUST_WORKSPACE ?? 'true',
      ...(baseUrl
        ? { GOOGLE_GEMINI_BASE_URL: baseUrl, GOOGLE_VERTEX_BASE_URL: baseUrl }
        : {})
    })
  },

  read(before: Editing, event): Editing {
    const line = record(event);
    // Events after the end are ignored, except for one that contradicts it.
    if (before.finished && line.type !== 'result') return before;
    const { retrying: _, ...reply } = before;
    switch (line.type) {
      case 'init':
        return reportingEdits({ ...reply, ...beginning(line) });
      case 'message':
        if (line.role !== 'assistant') return reply;
        return { ...reply, text: reply.text + text(line.content) };
      case 'tool_use': {
        // Text before a tool call is not the answer.
        const progress = toolCall(line.tool_name, line.parameters);
        return readCall({ ...reply, text: '', progress }, line);
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
    const delay = requestedDelay(line);
    if (delay) return waits(reply, delay.why, delay.seconds);
    const [, attempt, said = ''] =
      /^Attempt (\d+) failed.*?backoff\.\.\. (.*)/.exec(line) ?? [];
    if (attempt === undefined) return reply;
    const { code } = failureOf(said, 'provider_error');
    const message = /"message":"(.*?)"/.exec(said)?.[1] ?? said;
    const why = { code, message: shortLine(message, 500) };
    const progress = shortLine(`retry ${attempt} after ${why.message}`);
    return { ...failedAgain(reply, why), progress };
  },

  turns: geminiCliTurns,

  failure: codeOfText,

  asks: {
    access: ['read', 'write', 'full'],
    edits: writing,
    reads: reading,
    acp: true,
    session: { type: 'init', field: 'session_id' }
  },
  connect,
  interactive,
  // The API engine of that name cannot be a worker.
  workerAliases: ['gemini'],

  probe: {
    verified: { oldest: '0.57.0', newest: '0.61.0' },
    // It starts itself again for a larger heap, which an answer does not need.
    env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
    loginHint: 'Run "gemini" and sign in, or set GEMINI_API_KEY.'
  }
} satisfies CliEngine;

/** Gemini CLI waits as long as the provider requests, even for hours. */
function requestedDelay(line: string) {
  const [, said = '', ms] =
    /^(?:Attempt \d+ failed: )?(.*?)\.* ?Retrying after (\d+)ms\.\.\.$/.exec(
      line
    ) ?? [];
  return ms === undefined
    ? undefined
    : { why: failureOf(said, 'quota'), seconds: Number(ms) / 1000 };
}

interface Editing extends Reply {
  /** Files that are being changed, by the ids of the calls. */
  editing?: Record<string, string>;
}

function readCall(reply: Editing, line: Fields): Editing {
  const tool = text(line.tool_name);
  const known = withCall(reply, tool, [...reading, ...writing]);
  if (!writing.includes(tool)) return known;
  const path = text(record(line.parameters).file_path);
  const editing = { ...reply.editing, [text(line.tool_id)]: path };
  return { ...known, editing };
}

function readToolResult(reply: Editing, line: Fields): Editing {
  const edited = reply.editing?.[text(line.tool_id)];
  if (edited !== undefined && line.status === 'success')
    return withEdits(reply, [edited]);
  const error = record(line.error);
  const said = text(error.message);
  const outside = /^Path not in workspace: Attempted path "(.+?)" /.exec(said);
  if (!outside && error.type !== 'policy_violation') return reply;
  // Ids begin with the name of the tool.
  const [tool = ''] = text(line.tool_id).split('__');
  const denial = shortLine(outside ? `${tool}: ${outside[1]}` : tool);
  return { ...reply, denials: [...(reply.denials ?? []), denial] };
}

/** Most errors are remarks; the matched ones end a run, even a "success". */
function readError(reply: Reply, line: Fields): Reply {
  const said = text(line.message);
  const isOver = /^(loop detected|agent execution blocked)/i.test(said);
  if (line.severity !== 'error' && !isOver)
    return { ...reply, progress: shortLine(said) };
  return { ...reply, failure: failureOf(said, 'bad_output') };
}

function readResult(reply: Reply, line: Fields): Reply {
  const stats = record(line.stats);
  const ended = { ...reply, finished: true, ...readStats(stats) };
  const succeeded = line.status === 'success' && !reply.failure;
  if (succeeded) return ended;
  const said = innerMessage(text(record(line.error).message));
  const failure = reply.failure ?? failureOf(said, 'provider_error');
  return { ...ended, text: '', failure };
}

/** The model with the most tokens; a small one may only have selected it. */
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
    message: shortLine(said, 500) || 'Gemini CLI stopped with an error.'
  };
}

/** The JSON in `[API Error: {"error":{"code":400,"message":"…"}}]`. */
function innerMessage(said: string): string {
  return said.replace(/^\[API Error: ([\s\S]*)\]/, '$1');
}

function codeOfText(said: string): FailureCode | undefined {
  return CODES.find(([pattern]) => pattern.test(said))?.[1];
}

/**
 * Messages of the CLI, the most reliable first. The CLI mentions a quota with
 * every rate limit.
 */
const CODES: [RegExp, FailureCode][] = [
  [/set an auth method|invalid auth method|you must specify/i, 'not_logged_in'],
  [/error resuming session|invalid session identifier/i, 'spawn_failed'],
  [/not running in a trusted directory/i, 'permission_denied'],
  [/max(imum)? session turns/i, 'budget'],
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
