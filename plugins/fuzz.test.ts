import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { classifyWith } from '../src/core/engines/failures.ts';
import { classifyOutcome } from '../src/core/runs/end/classify-outcome.ts';
import { ReplyReader } from '../src/core/runs/end/reply-reader.ts';
import type { CliEngine } from '../src/plugin/plugin.ts';
import { cursorAgentOutputs } from '../test/kit/agents/cursor-agent-program.ts';
import {
  type Recording,
  recordedEngines,
  recordingsOf
} from '../test/kit/agents/recordings.ts';
import { diceFrom, pick, spoil } from '../test/kit/agents/spoiled-output.ts';
import { createTempWorkspace } from '../test/kit/workspaces/temp-workspace.ts';
import { builtinEngines, optionalEngines } from './index.ts';

/** The variants of all engines together. A failure prints how to replay it. */
const variants = Number(process.env.TROUPE_FUZZ_RUNS ?? 10_000);
const firstSeed = Number(process.env.TROUPE_FUZZ_SEED ?? Date.now() % 2 ** 31);

/**
 * Judges a run by the events of the engine, independently of its plugin: the
 * last verdict must be a success, and no event may report a failure.
 * `undefined` means that the line has no verdict.
 */
const lastWords: Record<string, (event: Fields) => boolean | undefined> = {
  claude: ({ type, is_error, subtype, result }) =>
    type === 'result'
      ? is_error !== true && subtype === 'success' && isText(result)
      : undefined,
  codex: ({ type }) =>
    type === 'turn.failed' ? false : type === 'turn.completed' || undefined,
  copilot: ({ type, exitCode }) =>
    type === 'result' ? exitCode === 0 : type === 'abort' ? false : undefined,
  'cursor-agent': ({ type, is_error, subtype }) =>
    type === 'result' ? is_error !== true && subtype === 'success' : undefined,
  'gemini-cli': ({ type, status }) =>
    type === 'result' ? status === 'success' : undefined
};

type Fields = Record<string, unknown>;

const engines = [...builtinEngines, ...optionalEngines];
// There are no recordings of Cursor; its stand-in prints documented events.
const recorded = [...recordedEngines(), 'cursor-agent'].flatMap((name) => {
  const engine = engines.find((known) => known.name === name);
  return engine?.kind === 'cli' ? [engine] : [];
});
const workspace = createTempWorkspace();

afterAll(() => workspace.remove());

test('every engine with recordings has a rule for its last event', () => {
  expect(recorded.length).toBeGreaterThan(0);
  for (const { name } of recorded) expect(lastWords).toHaveProperty(name);
});

describe(`from seed ${firstSeed} (TROUPE_FUZZ_SEED)`, () => {
  for (const [index, engine] of recorded.entries()) {
    const count = Math.ceil(variants / recorded.length);
    test(`${count} spoiled outputs of ${engine.name} are never taken for a success`, async () => {
      const recordings =
        engine.name === 'cursor-agent'
          ? cursorAgentOutputs(workspace)
          : recordingsOf(engine.name);
      const seen = new Set<string>();
      for (let number = 0; number < count; number += 1) {
        const seed = firstSeed + number + (variants > 1 ? index * 1e6 : 0);
        seen.add(await tryOne(engine, recordings, seed));
      }
      // The variants are neither all spoiled nor all harmless.
      if (count > 500) expect(seen).toContain('completed');
      if (count > 500) expect(seen).toContain('failed');
    }, 300_000);
  }
});

async function tryOne(
  engine: CliEngine,
  recordings: Recording[],
  seed: number
): Promise<string> {
  const dice = diceFrom(seed);
  const recording = pick(recordings, dice);
  if (!recording) throw new Error(`No recording of ${engine.name}`);
  const { steps, output } = spoil(recording.stdout, dice);
  const exitCode = dice(8) === 0 ? 1 : (recording.exitCode ?? 143);
  const replay = `TROUPE_FUZZ_RUNS=1 TROUPE_FUZZ_SEED=${seed}: ${engine.name}/${recording.case}, ${steps.join(', ')}, exit ${exitCode}`;
  try {
    const { status } = await judged(engine, recording, output, exitCode);
    if (status === 'completed')
      expect(mayBeSuccess(engine, output, exitCode), 'a success').toBe(true);
    return status;
  } catch (error) {
    throw new Error(replay, { cause: error });
  }
}

/** Judges output as the host does: from the file through the reader. */
async function judged(
  engine: CliEngine,
  recording: Recording,
  output: Buffer,
  exitCode: number
) {
  writeFileSync(join(workspace.path, 'stdout'), output);
  const reader = new ReplyReader(engine, workspace.path);
  const reply = await reader.read(true);
  expect(reply.failure?.message ?? '').not.toMatch(/could not read its output/);
  expect(typeof reply.text).toBe('string');
  return classifyOutcome({
    reply,
    exitCode,
    stop: undefined,
    neverStarted: false,
    errorText: recording.stderr,
    strayText: reader.stray,
    classify: classifyWith(engine),
    label: engine.name
  });
}

function mayBeSuccess(
  engine: CliEngine,
  output: Buffer,
  exitCode: number
): boolean {
  const words = output
    .toString('utf8')
    .split('\n')
    .map((line) => lastWords[engine.name]?.(fieldsOf(line)));
  return exitCode === 0 && words.includes(true) && !words.includes(false);
}

function fieldsOf(line: string): Fields {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value))
      : {};
  } catch {
    return {};
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}
