import { isAbsolute, join } from 'node:path';
import type {
  CliEngine,
  EngineRequest,
  Failure,
  FailureCode,
  OwnConfiguration,
  Reply
} from '../src/plugin/plugin.ts';
import { askable, connect, interactive, tools } from './claude-worker.ts';
import { briefedPrompt, briefsByPrompt } from './shared/brief.ts';
import { reportingEdits, withCall, withEdits } from './shared/edits.ts';
import {
  beginning,
  count,
  type Fields,
  isCount,
  isRecord,
  record,
  records,
  shortLine,
  text,
  tokens,
  toolCall
} from './shared/json-fields.ts';
import { parsedSettings } from './shared/user-settings.ts';
import { claudeTurns } from './turns/claude-turns.ts';

type Environment = NonNullable<CliEngine['env']>;

const vertex = [
  ...['ANTHROPIC_VERTEX_*', 'CLOUD_ML_REGION', 'VERTEX_REGION_*'],
  ...['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_PROJECT']
];

/** Variables of clouds, each with the switch that Claude Code has for it. */
const clouds: NonNullable<Environment['keepIf']> = {
  CLAUDE_CODE_USE_BEDROCK: ['AWS_*', 'ANTHROPIC_BEDROCK_*'],
  CLAUDE_CODE_USE_MANTLE: ['AWS_*', 'ANTHROPIC_BEDROCK_*'],
  CLAUDE_CODE_USE_ANTHROPIC_AWS: ['AWS_*', 'ANTHROPIC_AWS_*'],
  CLAUDE_CODE_USE_VERTEX: vertex,
  CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD: [...vertex, 'GOOGLE_CLOUD_*'],
  CLAUDE_CODE_USE_FOUNDRY: ['ANTHROPIC_FOUNDRY_*', 'AZURE_*']
};

/** Matches `pytest` and `test_utils.py`, but not `latest contest`. */
const speaksOfTests =
  /(?<![a-z])((py|vi|unit|doc)?tests?(ing|ed|er|suites?|cases?)?|jest)(?![a-z])/i;

/** Claude Code. Reads CLAUDE.md, else AGENTS.md, from its directory. */
export default {
  kind: 'cli',
  name: 'claude',
  label: 'Claude',
  description: 'Complex reasoning, code review, coding.',
  command: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  models: {
    default: 'sonnet',
    // Claude Code knows these names itself.
    aliases: { haiku: 'haiku', sonnet: 'sonnet', opus: 'opus' }
  },
  access: { read: 'enforced', write: 'enforced', full: 'enforced' },
  resumes: true,
  timeoutSeconds: (prompt) => (speaksOfTests.test(prompt) ? 600 : 300),
  tools: (access) => tools(access).join(', '),

  args(request) {
    const { model, sessionId, systemPrompt } = request;
    return [
      '-p',
      ...['--output-format', 'stream-json', '--verbose'],
      ...['--model', model ?? 'sonnet'],
      // One value, and never last: the flag swallows all words after it.
      ...['--tools', offered(request).join(',')],
      ...permissions(request),
      ...(systemPrompt && !briefsByPrompt(request)
        ? ['--append-system-prompt', systemPrompt]
        : []),
      // With "=", so that an id can never be taken for a flag.
      ...(sessionId ? [`--resume=${sessionId}`] : [])
    ];
  },

  stdin: briefedPrompt,

  env: {
    keep: `ANTHROPIC_* API_TIMEOUT_MS BASH_DEFAULT_TIMEOUT_MS BASH_MAX_*
      CLAUDE_CODE_DISABLE_* CLAUDE_CODE_MAX_* CLAUDE_CODE_OAUTH_TOKEN
      CLAUDE_CODE_SKIP_* CLAUDE_CODE_USE_* CLAUDE_CONFIG_DIR DISABLE_*
      ENABLE_TOOL_SEARCH MAX_THINKING_TOKENS MCP_TIMEOUT
      MCP_TOOL_TIMEOUT`.split(/\s+/),
    keepIf: clouds,
    named: switchedOn,
    set: ({ access, asRoot, baseUrl }) => ({
      // Its default of ten retries takes minutes of silence. `set` overrides
      // `keep`, so the user's own value is read here.
      CLAUDE_CODE_MAX_RETRIES: process.env.CLAUDE_CODE_MAX_RETRIES ?? '2',
      ...(baseUrl ? { ANTHROPIC_BASE_URL: baseUrl } : {}),
      // Claude lets root skip permissions only in a declared sandbox.
      ...(asRoot && access === 'full' ? { IS_SANDBOX: '1' } : {})
    })
  },

  read(reply, event) {
    const line = record(event);
    if (line.type === 'system') return readSystem(reply, line);
    if (line.type === 'assistant') return readAssistant(reply, line);
    if (line.type === 'user') return readToolResult(reply, line);
    return line.type === 'result' ? readResult(reply, line) : reply;
  },

  turns: claudeTurns,

  failure: codeOfText,

  asks: {
    access: ['read', 'write', 'full'],
    edits: ['Write', 'Edit'],
    reads: tools('read'),
    session: { type: 'system', field: 'session_id' }
  },
  connect,
  interactive,

  probe: {
    verified: { oldest: '2.1.290', newest: '2.1.329' },
    login: {
      args: ['auth', 'status'],
      read({ stdout }) {
        if (/"loggedIn"\s*:\s*true/.test(stdout)) return 'logged in';
        return /"loggedIn"/.test(stdout) ? 'not logged in' : 'unknown';
      }
    },
    loginHint: 'Run "claude auth login", or set ANTHROPIC_API_KEY.'
  }
} satisfies CliEngine;

/** Claude Code also takes its switches from `env` of the user's settings. */
function switchedOn({ environment, read }: OwnConfiguration): string[] {
  const { HOME = '', CLAUDE_CONFIG_DIR = join(HOME, '.claude') } = environment;
  if (!isAbsolute(CLAUDE_CONFIG_DIR)) return [];
  const settings = parsedSettings(
    read(join(CLAUDE_CONFIG_DIR, 'settings.json'))
  );
  const { env } = settings;
  return Object.entries(clouds).flatMap(([name, patterns]) =>
    /^(1|true|yes|on)$/i.test(String(record(env)[name])) ? patterns : []
  );
}

function offered({ access, asks }: EngineRequest): string[] {
  const own = tools(access);
  return asks ? [...new Set([...own, ...askable])] : own;
}

function permissions({ access, asks }: EngineRequest): string[] {
  if (access === 'full') return ['--dangerously-skip-permissions'];
  if (access === 'write') return ['--permission-mode', 'acceptEdits'];
  // "dontAsk" refuses before the permission prompt tool is called. "plan"
  // would suit reading too, but it reads outside the directory.
  return ['--permission-mode', asks ? 'default' : 'dontAsk'];
}

function readSystem(reply: Reply, line: Fields): Reply {
  if (line.subtype === 'init')
    return reportingEdits({ ...reply, ...beginning(line) });
  if (line.subtype !== 'api_retry') return reply;
  const attempt = `${count(line.attempt)}/${count(line.max_retries)}`;
  const why = count(line.error_status) || text(line.error) || 'an error';
  return { ...reply, progress: shortLine(`retry ${attempt} after ${why}`) };
}

function readAssistant(reply: Reply, line: Fields): Reply {
  const blocks = records(record(line.message).content);
  const calls = blocks.filter((block) => block.type === 'tool_use');
  const call = calls.at(-1);
  if (!call) {
    const said = blocks.findLast((block) => block.type === 'text');
    const progress = shortLine(
      text(said?.text).trim().split('\n').at(-1) ?? ''
    );
    return progress === '' ? reply : { ...reply, progress };
  }
  const called = { ...reply, progress: toolCall(call.name, call.input) };
  return calls.reduce<Reply>(
    (seen, { name }) => withCall(seen, text(name), tools('write')),
    called
  );
}

/** Only a completed edit comes with its patch. */
function readToolResult(reply: Reply, line: Fields): Reply {
  const { filePath, structuredPatch } = record(line.tool_use_result);
  return structuredPatch ? withEdits(reply, [text(filePath)]) : reply;
}

function readResult(reply: Reply, line: Fields): Reply {
  // There may be several results. A failure is final.
  if (reply.finished && reply.failure) return reply;
  const sessionId = text(line.session_id);
  const usage = readUsage(line.usage);
  const costUsd = readCost(line, reply.costUsd ?? 0);
  const denials = records(line.permission_denials).map(
    ({ tool_name, tool_input }) => toolCall(tool_name, tool_input)
  );
  const failure = readFailure(line);
  return {
    ...reply,
    finished: true,
    text: failure ? '' : text(line.result) || reply.text,
    ...(failure && { failure }),
    ...(sessionId && { sessionId }),
    ...(usage && { usage }),
    ...(costUsd !== undefined && { costUsd }),
    ...(denials.length > 0 && { denials })
  };
}

/** A result is a success only if none of its fields reports a failure. */
function readFailure(line: Fields): Failure | undefined {
  const errors = Array.isArray(line.errors) ? line.errors : [];
  const said = text(line.result) || errors.map(text).find(Boolean) || '';
  if (text(line.terminal_reason).startsWith('aborted_')) {
    return { code: 'interrupted', message: 'Claude was interrupted.' };
  }
  const refused = line.stop_reason === 'refusal';
  const isError = line.is_error !== false && line.is_error !== undefined;
  if (refused || isError || line.subtype !== 'success') {
    const code = BUDGETS.includes(text(line.subtype))
      ? 'budget'
      : codeOfText(`${said} status ${count(line.api_error_status)}`);
    return {
      code: refused ? 'content_refused' : (code ?? 'provider_error'),
      message: shortLine(said, 500) || 'Claude stopped with an error.'
    };
  }
  if (typeof line.result === 'string') return undefined;
  return { code: 'bad_output', message: 'Claude ended without an answer.' };
}

const BUDGETS = ['error_max_budget_usd', 'error_max_turns'];

function codeOfText(said: string): FailureCode | undefined {
  return CODES.find(([pattern]) => pattern.test(said))?.[1];
}

/** Messages of the CLI, the most reliable first. */
const CODES: [RegExp, FailureCode][] = [
  [/not logged in|run \/login|claude auth login/i, 'not_logged_in'],
  [/no conversation found|requires a valid session id/i, 'spawn_failed'],
  [/session id \S+ is already in use/i, 'session_busy'],
  [/cannot be used with root/i, 'permission_denied'],
  [/credit balance|quota|usage limit|hit your .{0,20}limit|billing/i, 'quota'],
  [/reached maximum (budget|number of turns)/i, 'budget'],
  [/(api error:|status) 402\b/i, 'quota'],
  [/prompt is too long|context window|status 413/i, 'context_too_long'],
  [/selected model|model\b.{0,60} not found|status 404/i, 'model_not_found'],
  [/api key|authenticate|oauth token|(error:|status) 40[13]\b/i, 'auth'],
  [/rate.?limit|rejected \(429\)|(api error:|status) 429/i, 'rate_limited'],
  [/\bE(CONN|NOTFOUND|AI_AGAIN|TIMEDOUT)|connection (re|er|lost)/i, 'network'],
  [/output token maximum/i, 'output_limit'],
  [/overloaded|api error: 5\d\d\b/i, 'provider_error'],
  [/usage policy|safeguards stopped/i, 'content_refused']
];

function readUsage(value: unknown): Reply['usage'] {
  const usage = record(value);
  const prompt =
    count(usage.input_tokens) +
    count(usage.cache_creation_input_tokens) +
    count(usage.cache_read_input_tokens);
  return tokens(prompt, count(usage.output_tokens));
}

/** The total is the last choice: it includes earlier runs of the session. */
function readCost(line: Fields, earlier: number): number | undefined {
  const models = line.model_usage_since_last_result;
  if (!isRecord(models)) {
    return isCount(line.total_cost_usd) ? line.total_cost_usd : undefined;
  }
  const costs = Object.values(models).map((model) => record(model).costUSD);
  return costs.reduce((sum: number, cost) => sum + count(cost), earlier);
}
