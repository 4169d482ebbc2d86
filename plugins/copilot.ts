import { homedir } from 'node:os';
import { join } from 'node:path';
import type { CliEngine, FailureCode, Reply } from '../src/plugin/plugin.ts';
import { connect, interactive, permissions, tools } from './copilot-worker.ts';
import { reportingEdits, withCall, withEdits } from './shared/edits.ts';
import {
  count,
  type Fields,
  record,
  records,
  shortLine,
  text,
  tokens,
  toolCall
} from './shared/json-fields.ts';
import { failedAgain } from './shared/retries.ts';
import { copilotTurns } from './turns/copilot-turns.ts';

/**
 * GitHub Copilot CLI. Reads AGENTS.md, CLAUDE.md and GEMINI.md from its
 * directory by itself.
 */
export default {
  kind: 'cli',
  name: 'copilot',
  label: 'Copilot',
  description: 'Models of several makers by one GitHub account.',
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
  // Copilot reports the id only in its last event, which a stopped run lacks.
  takesSessionId: true,
  timeoutSeconds: 600,
  // Copilot's five attempts take up to a minute.
  retrySeconds: 6,
  tools: (access) => (access === 'full' ? 'all' : tools(access).join(', ')),

  args: ({ access, asks, model, sessionId, newSessionId }) => [
    ...['--output-format', 'json', '--no-color'],
    ...permissions(access, asks),
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
    const known = readEdits(reply, line.type, data);
    // Messages of a nested agent are not part of the answer.
    const isOwn = !line.agentId && !data.parentToolCallId;
    return isOwn && !reply.finished ? readEvent(known, line.type, data) : known;
  },

  usageLog: {
    path: (sessionId, { COPILOT_HOME, HOME }) => {
      const home = COPILOT_HOME || join(HOME || homedir(), '.copilot');
      return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(sessionId)
        ? join(home, 'session-state', sessionId, 'events.jsonl')
        : undefined;
    },
    read: readUsageRecord
  },

  turns: copilotTurns,

  failure: codeOfText,

  asks: {
    access: ['read', 'write', 'full'],
    edits: ['create', 'edit'],
    reads: ['view', 'grep', 'rg', 'glob'],
    session: { type: 'result', field: 'sessionId' }
  },
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
   * Text that was streamed, but not yet repeated in a whole message. A
   * truncated answer never is: Copilot asks the model to continue and reports
   * only the last piece as a message.
   */
  pieces?: string;
}

/** Includes the edits of nested agents. */
function readEdits(reply: Streaming, type: unknown, data: Fields): Streaming {
  switch (type) {
    case 'assistant.turn_start':
      return reportingEdits(reply);
    case 'tool.execution_start':
      return withCall(reply, text(data.toolName), tools('write'));
    case 'tool.execution_complete': {
      const paths = records(data.fileEdits).map(({ path }) => text(path));
      return paths.length > 0 ? withEdits(reply, paths) : reply;
    }
    default:
      return reply;
  }
}

function readEvent(before: Streaming, type: unknown, data: Fields): Streaming {
  if (type === 'model.call_failure') return readCallFailure(before, data);
  const isProgress = PROGRESS.some((known) => known === type);
  const { retrying, ...rest } = before;
  const reply = isProgress ? rest : before;
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
        progress: shortLine(`retry after ${text(data.reason) || 'an error'}`)
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

/** Events that show progress after failed attempts. */
const PROGRESS = [
  'assistant.message_delta',
  'assistant.message',
  'tool.execution_start',
  'tool.execution_complete'
];

/** Discards the pieces so far: the next attempt restarts the answer. */
function readCallFailure(reply: Streaming, data: Fields): Streaming {
  const said = text(data.errorMessage);
  const message = /"message":"(.*?)","/.exec(said)?.[1] ?? said;
  const why = failureOf({ ...data, message });
  return failedAgain({ ...reply, pieces: '' }, why);
}

/** The text of a message that calls a tool is not the answer. */
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
  // The end event of a call lacks its arguments; its start event had them.
  const { denials = [], progress = tool } = reply;
  const known = progress.startsWith(`${tool}: `) ? progress : tool;
  return { ...reply, denials: [...denials, known || progress] };
}

function readResult(reply: Streaming, line: Fields): Streaming {
  // A failure is final.
  if (reply.finished && reply.failure) return reply;
  const { failure, pieces: _, ...said } = reply;
  const sessionId = text(line.sessionId);
  const ended = { ...said, finished: true, ...(sessionId && { sessionId }) };
  // An interrupted run also exits with 0. An error before that was overcome.
  const wasInterrupted = failure?.code === 'interrupted';
  if (line.exitCode === 0 && !wasInterrupted) {
    if (said.text !== BLOCKED) return ended;
    const refusal = { code: 'content_refused', message: BLOCKED } as const;
    return { ...ended, text: '', failure: refusal };
  }
  return { ...ended, text: '', failure: failure ?? failureOf({}) };
}

/** Copilot prints this sentence in place of a blocked answer. */
const BLOCKED =
  'The model returned no content because the response was blocked by content filtering.';

/** One record per model call, including the calls of nested agents. */
function readUsageRecord(
  reply: Streaming,
  event: unknown,
  since: string
): Streaming {
  const { type, timestamp, data } = record(event);
  if (type !== 'session.usage_record' || text(timestamp) < since) return reply;
  const { inputTokens, outputTokens } = record(record(data).usage);
  const usage = tokens(
    count(inputTokens) + (reply.usage?.prompt_tokens ?? 0),
    count(outputTokens) + (reply.usage?.completion_tokens ?? 0)
  );
  return usage ? { ...reply, usage } : reply;
}

function failureOf(data: Fields) {
  const message = text(data.message);
  const code = codeOfText(
    `${message} status ${count(data.statusCode)} type ${text(data.errorType)}`
  );
  return {
    code: code ?? 'provider_error',
    message: shortLine(message, 500) || 'Copilot stopped with an error.'
  } as const;
}

function codeOfText(said: string): FailureCode | undefined {
  return CODES.find(([pattern]) => pattern.test(said))?.[1];
}

/** Messages of the CLI, the most reliable first. */
const CODES: [RegExp, FailureCode][] = [
  [/no authentication information|not logged in/i, 'not_logged_in'],
  [/no session, task, or name matched/i, 'spawn_failed'],
  [/require an explicit model|unexpected argument/i, 'spawn_failed'],
  [/no response was returned/i, 'bad_output'],
  [/type policy\b/i, 'permission_denied'],
  [/session.limits?.(reached|exhausted)|credit limit/i, 'budget'],
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
