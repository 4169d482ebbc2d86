import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type {
  CliEngine,
  Connection,
  FailureCode,
  Reply
} from '../../src/plugin/plugin.ts';
import { reportingEdits, withEdits } from '../shared/edits.ts';
import { rehearsalTurns } from '../turns/rehearsal-turns.ts';

const here = import.meta.dirname;
const agent = programIn('rehearsal-agent.cjs');
const worker = programIn('rehearsal-worker.cjs');

/**
 * A scripted stand-in: a real child process that calls no model. The prompt is
 * its script (docs/start/rehearsal.md); lines that are not commands are repeated in
 * the answer. Offered only if it is named.
 */
export default {
  kind: 'cli',
  name: 'rehearsal',
  description:
    'A scripted stand-in agent for dry runs and demos: a real process, no model. The prompt is its script, e.g. "say hello", "sleep 2", "write notes.txt hi".',
  command: process.execPath,
  access: { read: 'enforced', write: 'enforced', full: 'enforced' },
  tools: (access) => (access === 'read' ? 'say, sleep' : 'say, sleep, write'),
  models: { default: 'script' },
  resumes: true,
  probe: { version: ['--version'] },
  args: ({ access, sessionId }) => [
    agent,
    access,
    ...(sessionId === undefined ? [] : ['--', sessionId])
  ],
  asks: {
    access: ['read', 'write', 'full'],
    edits: ['Write'],
    reads: [],
    session: { type: 'session', field: 'text' }
  },
  connect: (server, directory, { request }): Connection => {
    const file = join(directory, 'server.json');
    return {
      args: [],
      env: request.asks
        ? { TROUPE_REHEARSAL_BRIDGE: file }
        : { TROUPE_REHEARSAL_WORKER: worker, TROUPE_REHEARSAL_SERVER: file },
      files: { 'server.json': JSON.stringify(server) }
    };
  },
  interactive: {
    args: ({ access, prompt }) => [agent, access, '--brief', prompt]
  },
  read: (reply, event) => {
    if (typeof event !== 'object' || event === null) return reply;
    const fields = new Map(Object.entries(event));
    const text = String(fields.get('text') ?? '');
    switch (fields.get('type')) {
      case 'session':
        return reportingEdits({ ...reply, sessionId: text });
      case 'edit':
        return withEdits(reply, [text]);
      case 'progress':
        return { ...reply, progress: text };
      case 'failed':
        return { ...reply, failure: failureOf(fields.get('code'), text) };
      case 'done':
        return finish(reply, text, fields.get('words'));
      default:
        return reply;
    }
  },
  turns: rehearsalTurns
} satisfies CliEngine;

/** The path of a built program, from source or from the bundle. */
function programIn(file: string): string {
  return (
    [join(here, file), join(here, '..', '..', 'dist', file)].find(existsSync) ??
    file
  );
}

const codes: FailureCode[] = [
  'auth',
  'rate_limited',
  'provider_error',
  'content_refused',
  'network',
  'spawn_failed'
];

function failureOf(code: unknown, message: string) {
  return {
    code: codes.find((known) => known === code) ?? 'provider_error',
    message
  };
}

function finish(reply: Reply, text: string, words: unknown): Reply {
  if (reply.finished) return reply;
  const { promptWords, answerWords } = countsOf(words);
  return {
    ...reply,
    text,
    finished: true,
    costUsd: 0,
    usage: {
      prompt_tokens: promptWords,
      completion_tokens: answerWords,
      total_tokens: promptWords + answerWords
    }
  };
}

function countsOf(words: unknown) {
  const [promptWords, answerWords] = Array.isArray(words) ? words : [];
  return {
    promptWords: typeof promptWords === 'number' ? promptWords : 0,
    answerWords: typeof answerWords === 'number' ? answerWords : 0
  };
}
