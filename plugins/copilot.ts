import type { CliEngine, FailureCode, Reply } from '../src/plugin.ts';
import { connect, interactive, permissions, tools } from './copilot-worker.ts';
import {
  count,
  type Fields,
  oneLine,
  record,
  records,
  text,
  toolCall
} from './json-fields.ts';
import { failedAgain } from './retries.ts';

/**
 * GitHub Copilot CLI. Reads AGENTS.md, CLAUDE.md and GEMINI.md from its
 * directory by itself.
 */
export default {
  kind: 'cli',
  name: 'copilot',
  label: 'Copilot',
  description:
    'Models of several makers by one GitHub account. Reads, writes and runs commands.',
  command: 'copilot',
  install: 'npm install -g @github/copilot',
  models: {
    // "copilot help config" lists the ids; the first of each family.
    aliases: {
      'gpt-5': 'gpt-5.5',
      'gpt-5.1': 'gpt-5.5',
      'gpt-5-mini': 'gpt-5-mini',
      'claude-sonnet': 'claude-sonnet-5.5',
      'claude-haiku': 'claude-haiku-5.5',
      'claude-opus': 'claude-opus-5.5',
      gemini: 'gemini-4-argon'
    }
  },
  access: { read: 'enforced', write: 'enforced', full: 'enforced' },
  resumes: true,
  // It says the id in its last event only, which a stopped run never writes.
  takesSessionId: true,
  timeoutSeconds: 600,
  // Its five attempts take up to a minute.
  retrySeconds: 6,
  tools: (access) => (access === 'full' ? 'all' : tools(access).join(', ')),

  args: ({ access, model, sessionId, newSessionId }) => [
    ...['--output-format', 'json', '--no-color'],
    ...permissions(access),
    ...(model ? ['--model', model] : []),
    // With "=", so that an id can never be taken for a flag.
    ...(sessionId ? [`--resume=${sessionId}`] : []),
    ...(newSessionId ? [`--session-id=${newSessionId}`] : [])
  ],

  env: {
    keep: `COPILOT_AUTO_TIER COPILOT_AUTO_UPDATE COPILOT_CACHE_HOME
      COPILOT_CUSTOM_INSTRUCTIONS_DIRS COPILOT_GH_HOST COPILOT_GITHUB_TOKEN
      COPILOT_HOME COPILOT_MODEL COPILOT_OFFLINE COPILOT_PROVIDER_*
      COPILOT_PROXY_KERBEROS_SPN GH_CONFIG_DIR GH_HOST GH_TOKEN GITHUB_TOKEN
      USE_BUILTIN_RIPGREP`.split(/\s+/),
    set: ({ baseUrl }): Record<string, string> =>
      baseUrl ? { COPILOT_PROVIDER_BASE_URL: baseUrl } : {}
  },

  read(reply: Streaming, event): Streaming {
    const line = record(event);
    if (line.type === 'result') return readResult(reply, line);
    const data = record(line.data);
    // What an agent of the agent says is no answer of ours.
    const isOwn = !line.agentId && !data.parentToolCallId;
    return isOwn && !reply.finished ? readEvent(reply, line.type, data) : reply;
  },

  failure: codeOfText,

  connect,
  interactive,

  probe: {
    verified: { oldest: '1.0.102', newest: '1.0.102' },
    loginHint:
      'Run "copilot login", or set COPILOT_GITHUB_TOKEN to a token that has the "Copilot Requests" permission.'
  }
} satisfies CliEngine;

interface Streaming extends Reply {
  /**
   * Streamed, but not yet said in a whole message. Half an answer never is:
   * Copilot asks the model to go on and tells only the last piece as a whole.
   */
  pieces?: string;
}

function readEvent(before: Streaming, type: unknown, data: Fields): Streaming {
  if (type === 'model.call_failure') return readCallFailure(before, data);
  const goesOn = GOING_ON.some((known) => known === type);
  const { retrying, ...rest } = before;
  const reply = goesOn ? rest : before;
  switch (type) {
    case 'assistant.message_delta': {
      const pieces = (reply.pieces ?? '') + text(data.deltaContent);
      return { ...reply, pieces };
    }
    case 'assistant.message':
      return readMessage(reply, data);
    case 'assistant.turn_retry':
      return {
        ...reply,
        progress: oneLine(`retry after ${text(data.reason) || 'an error'}`)
      };
    case 'tool.execution_start':
      return { ...reply, progress: toolCall(data.toolName, data.arguments) };
    case 'tool.execution_complete':
      return readToolEnd(reply, data);
    case 'session.error':
      return { ...reply, failure: failureOf(data) };
    case 'abort':
      return {
        ...reply,
        failure: { code: 'interrupted', message: 'Copilot was interrupted.' }
      };
    default:
      return reply;
  }
}

const GOING_ON = [
  'assistant.message_delta',
  'assistant.message',
  'tool.execution_start',
  'tool.execution_complete'
];

/** The pieces so far are thrown away; the next attempt begins anew. */
function readCallFailure(reply: Streaming, data: Fields): Streaming {
  const said = text(data.errorMessage);
  const message = /"message":"(.*?)","/.exec(said)?.[1] ?? said;
  const why = failureOf({ ...data, message });
  return failedAgain({ ...reply, pieces: '' }, why);
}

/** What is said together with a call of a tool is not the answer. */
function readMessage(reply: Streaming, data: Fields): Streaming {
  const content = text(data.content);
  const { pieces = '' } = reply;
  const model = text(data.model);
  const isFinal = records(data.toolRequests).length === 0;
  const whole = pieces.endsWith(content) ? pieces : content;
  return {
    ...reply,
    text: isFinal ? whole : '',
    pieces: '',
    ...(model && { model })
  };
}

function readToolEnd(reply: Streaming, data: Fields): Streaming {
  if (record(data.error).code !== 'denied') return reply;
  const { properties } = record(data.toolTelemetry);
  const tool = text(record(properties).command);
  // The end of a call does not tell its arguments; the start did, last.
  const { denials = [], progress = tool } = reply;
  const known = progress.startsWith(`${tool}: `) ? progress : tool;
  return { ...reply, denials: [...denials, known || progress] };
}

function readResult(reply: Streaming, line: Fields): Streaming {
  // What has failed stays failed.
  if (reply.finished && reply.failure) return reply;
  const { failure, pieces: _, ...said } = reply;
  const sessionId = text(line.sessionId);
  const ended = { ...said, finished: true, ...(sessionId && { sessionId }) };
  // An interrupted run ends with exit code 0 too; an error may be overcome.
  const wasInterrupted = failure?.code === 'interrupted';
  if (line.exitCode === 0 && !wasInterrupted) {
    if (said.text !== BLOCKED) return ended;
    const refusal = { code: 'content_refused', message: BLOCKED } as const;
    return { ...ended, text: '', failure: refusal };
  }
  return { ...ended, text: '', failure: failure ?? failureOf({}) };
}

/** Copilot's own words, in the place of an answer. */
const BLOCKED =
  'The model returned no content because the response was blocked by content filtering.';

function failureOf(data: Fields) {
  const message = text(data.message);
  const code = codeOfText(
    `${message} status ${count(data.statusCode)} type ${text(data.errorType)}`
  );
  return {
    code: code ?? 'provider_error',
    message: oneLine(message, 500) || 'Copilot stopped with an error.'
  } as const;
}

function codeOfText(said: string): FailureCode | undefined {
  return CODES.find(([pattern]) => pattern.test(said))?.[1];
}

/** Words of the CLI, the surest first. */
const CODES: [RegExp, FailureCode][] = [
  [/no authentication information|not logged in/i, 'not_logged_in'],
  [/no session, task, or name matched/i, 'spawn_failed'],
  [/require an explicit model|unexpected argument/i, 'spawn_failed'],
  [/no response was returned/i, 'bad_output'],
  [/type policy\b/i, 'permission_denied'],
  [/quota|billing|usage limit|premium requests|status 402\b/i, 'quota'],
  [
    /type context_limit\b|status 413\b|context (window|length)/i,
    'context_too_long'
  ],
  [/(prompt|input) .{0,40}(too long|exceeds)/i, 'context_too_long'],
  [/exceeds the model's prompt budget/i, 'context_too_long'],
  [/model\b.{0,80}not (found|available|supported)/i, 'model_not_found'],
  [/type auth|(status|http) 40[13]\b/i, 'auth'],
  [/type rate_limit\b|status 429\b|too many requests/i, 'rate_limited'],
  [/content.filter/i, 'content_refused'],
  [/status [45]\d\d\b/i, 'provider_error'],
  [/could not connect|connection|http request|timed out|\bdns\b/i, 'network']
];
