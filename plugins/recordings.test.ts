import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CliEngine, FailureCode, Reply } from '../src/plugin/plugin.ts';
import claude from './claude.ts';
import codex from './codex.ts';
import copilot from './copilot.ts';
import geminiCli from './gemini-cli.ts';

interface Recording {
  version: string;
  exitCode: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

/** The expected result of a recording: an answer, a failure or no end. */
type Verdict =
  | { answer: string; denials?: string[] }
  | { failure: FailureCode }
  /** No terminal event; `stderr` is the code for the text on stderr. */
  | { unfinished: true; stderr?: FailureCode };

const LONG = 'abcdefghi '.repeat(20_000);
const COUNTING = [...Array(10_000).keys()].join(' ');
const UNICODE = 'Grüße — 日本語 👩‍💻 \u2028 \\ "quoted" \t tab';

const shared: Record<string, Verdict> = {
  'dropped-once': { answer: 'Rest.' },
  'dropped-stream': { failure: 'network' },
  'empty-answer': { answer: '' },
  // Depending on timing, Claude may also print a result: interrupted.
  'hang-sigint': { unfinished: true },
  'hang-sigterm': { unfinished: true },
  'long-answer': { answer: LONG },
  'max-tokens': { failure: 'output_limit' },
  'model-not-found': { failure: 'model_not_found' },
  'not-logged-in': { failure: 'not_logged_in' },
  'prompt-too-long': { failure: 'context_too_long' },
  'read-denied': { answer: 'I could not.' },
  refusal: { failure: 'content_refused' },
  'resume-first': { answer: 'One.' },
  'resume-second': { answer: 'Two.' },
  'retry-then-success': { answer: 'Second time lucky.' },
  'status-400': { failure: 'provider_error' },
  'status-401': { failure: 'auth' },
  'status-429': { failure: 'rate_limited' },
  'status-500': { failure: 'provider_error' },
  success: { answer: 'All done.' },
  'tool-shell': { answer: 'It failed.' },
  'tool-write': { answer: 'Wrote it.' },
  unicode: { answer: UNICODE },
  'usage-limit': { failure: 'quota' }
};

const verdicts: Record<string, Record<string, Verdict>> = {
  claude: {
    ...shared,
    'credit-too-low': { failure: 'quota' },
    overloaded: { failure: 'provider_error' },
    'read-outside-denied': {
      answer: 'I may not.',
      denials: ['Read: /etc/hostname']
    },
    refused: { failure: 'network' },
    'root-refused': { unfinished: true, stderr: 'permission_denied' },
    'tool-sigint': { failure: 'interrupted' },
    'unknown-session': { failure: 'spawn_failed' },
    'write-denied': { answer: 'I could not.', denials: ['Write: /out.txt'] }
  },
  codex: {
    ...shared,
    quota: { failure: 'quota' },
    refused: { unfinished: true },
    'tool-sigint': { unfinished: true },
    'unknown-session': { unfinished: true, stderr: 'spawn_failed' },
    'untrusted-directory': { unfinished: true, stderr: 'permission_denied' }
  },
  copilot: {
    ...shared,
    blocked: { failure: 'content_refused' },
    'dropped-once': { answer: 'Half an ansRest.' },
    'empty-answer': { failure: 'bad_output' },
    'hang-sigint': { failure: 'interrupted' },
    'hang-sigterm': { failure: 'interrupted' },
    // Copilot lets the model continue twice, and then returns the text so far.
    'max-tokens': { answer: 'Cut oCut oCut o' },
    'no-model': { unfinished: true, stderr: 'spawn_failed' },
    'not-logged-in': { unfinished: true, stderr: 'not_logged_in' },
    quota: { failure: 'quota' },
    'read-outside-denied': {
      answer: 'I may not.',
      denials: ['view: /etc/hostname']
    },
    // It does not report that a filter stopped the model.
    refusal: { answer: 'No.' },
    refused: { failure: 'network' },
    'shell-denied': { answer: 'I could not.' },
    'sub-agent': { answer: 'From itself.' },
    'tool-sigint': { failure: 'interrupted' },
    'unknown-session': { unfinished: true, stderr: 'spawn_failed' },
    'write-allowed': { answer: 'Wrote it.' },
    'write-denied': {
      answer: 'I could not.',
      denials: ['create: /workspace/../out.txt']
    }
  },
  'gemini-cli': {
    ...shared,
    blocked: { failure: 'content_refused' },
    'dropped-once': { failure: 'network' },
    'empty-answer': { failure: 'bad_output' },
    'long-answer': { answer: COUNTING },
    loop: { failure: 'bad_output' },
    // It does not report that the answer was cut off, nor why.
    'max-tokens': { answer: 'Cut o' },
    refusal: { answer: 'No.' },
    'model-chosen': { answer: 'By choice.' },
    'no-login-chosen': { unfinished: true, stderr: 'not_logged_in' },
    'not-logged-in': { unfinished: true, stderr: 'not_logged_in' },
    'nothing-but-tokens': { failure: 'output_limit' },
    'plan-mode-denied': { answer: 'I could not.' },
    quota: { failure: 'quota' },
    'read-outside-denied': {
      answer: 'I may not.',
      denials: ['read_file: /etc/hostname']
    },
    refused: { failure: 'network' },
    'shell-denied': { answer: 'I could not.' },
    'tool-sigint': { unfinished: true },
    'unknown-session': { unfinished: true, stderr: 'spawn_failed' },
    'untrusted-directory': { unfinished: true, stderr: 'permission_denied' },
    'write-allowed': { answer: 'Wrote it.' },
    'write-denied': {
      answer: 'I could not.',
      denials: ['write_file: /out.txt']
    }
  }
};

const engines: CliEngine[] = [claude, codex, copilot, geminiCli];

for (const engine of engines) {
  const expected = verdicts[engine.name] ?? {};

  test(`every recording of ${engine.name} has a verdict`, () => {
    expect(recordedCases(engine)).toEqual(Object.keys(expected).sort());
  });

  for (const [name, verdict] of Object.entries(expected)) {
    test(`${engine.name} reads its recording "${name}"`, () => {
      const recording = load(engine, name);
      const reply = fold(engine, recording.stdout);
      expect(verdictOf(engine, reply, recording)).toEqual(verdict);
    });
  }

  test(`${engine.name} never reports success for a failed process`, () => {
    for (const name of recordedCases(engine)) {
      const recording = load(engine, name);
      const reply = fold(engine, recording.stdout);
      const failed = recording.exitCode !== 0 || recording.signal !== null;
      if (failed) expect(reply.finished && !reply.failure, name).toBe(false);
    }
  });

  test(`${engine.name} names the session it can continue`, () => {
    const first = fold(engine, load(engine, 'resume-first').stdout);
    const second = fold(engine, load(engine, 'resume-second').stdout);
    expect(first.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(second.sessionId).toBe(first.sessionId);
  });

  // Copilot writes its tokens only to a file.
  const tokens = engine === copilot ? 'no' : 'the';
  test(`${engine.name} counts ${tokens} tokens of its run`, () => {
    const { usage } = fold(engine, load(engine, 'success').stdout);
    const told = { prompt_tokens: 1200, completion_tokens: 34 };
    const all = { ...told, total_tokens: 1234 };
    expect(usage).toEqual(engine === copilot ? undefined : all);
  });

  test(`no recording of ${engine.name} knows the machine it was made on`, () => {
    for (const name of recordedCases(engine)) {
      const recording = JSON.stringify(load(engine, name));
      expect(recording, name).not.toMatch(
        /\/root\b|(?<!\.gemini)\/tmp\/(?!cc-socks\/1\.)|troupe-recordings|:\/\/127\.0\.0\.1:(?!8080|9\b)/
      );
    }
  });
}

function recordedCases(engine: CliEngine): string[] {
  return readdirSync(new URL(`fixtures/${engine.name}`, import.meta.url))
    .map((file) => file.replace(/\.json$/, ''))
    .sort();
}

function load(engine: CliEngine, name: string): Recording {
  const file = `fixtures/${engine.name}/${name}.json`;
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
}

function fold(engine: CliEngine, stdout: string): Reply {
  let reply: Reply = { text: '', finished: false };
  for (const line of stdout.split('\n')) {
    const event = parsed(line);
    if (event !== undefined) reply = engine.read?.(reply, event) ?? reply;
  }
  return reply;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function verdictOf(
  engine: CliEngine,
  { finished, failure, text, denials }: Reply,
  { stderr }: Recording
): Verdict {
  if (failure) return { failure: failure.code };
  if (finished) return { answer: text, ...(denials ? { denials } : {}) };
  const code = engine.failure?.(stderr);
  return { unfinished: true, ...(code ? { stderr: code } : {}) };
}
