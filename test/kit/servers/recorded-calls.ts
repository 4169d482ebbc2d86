import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { recordingsOf } from '../agents/recordings.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

const callSchema = z.object({
  program: z.string(),
  argv: z.array(z.string()),
  env: z.record(z.string(), z.string())
});

/** How a program was started, as it saw it itself. */
export type RecordedCall = z.output<typeof callSchema>;

/** Engines that are programs, and the names of these. */
export const programs: [engine: string, program: string][] = [
  ['claude', 'claude'],
  ['codex', 'codex'],
  ['copilot', 'copilot'],
  ['cursor-agent', 'cursor-agent'],
  ['gemini-cli', 'gemini']
];

const cursorSays = [
  { type: 'system', subtype: 'init', session_id: 'c1', model: 'Auto' },
  {
    type: 'assistant',
    message: { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    session_id: 'c1'
  },
  {
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: 'Done.',
    session_id: 'c1'
  }
];

/**
 * Puts stand-ins for all of them on PATH, that write down how they are started
 * and answer as the real one did once.
 * @param more other programs, which say nothing
 */
export function recordCalls(
  workspace: TempWorkspace,
  more: string[] = []
): () => RecordedCall[] {
  const calls = join(workspace.bin, 'calls');
  mkdirSync(calls);
  const names = [...programs, ...more.map((name) => ['', name] as const)];
  for (const [engine, program] of names) {
    writeFileSync(join(workspace.bin, `${program}.says`), answerOf(engine));
    workspace.program(program, source(program));
  }
  return () =>
    readdirSync(calls)
      .filter((name) => name.endsWith('.json'))
      .map((name) =>
        callSchema.parse(JSON.parse(readFileSync(join(calls, name), 'utf8')))
      );
}

function answerOf(engine: string): string {
  if (engine === '') return '';
  if (engine === 'cursor-agent')
    return cursorSays.map((event) => `${JSON.stringify(event)}\n`).join('');
  const success = recordingsOf(engine).find(
    (recording) => recording.case === 'success'
  );
  return success?.stdout ?? '';
}

/** The file appears under its name when it is complete. */
const source = (program: string) => `
const fs = require('node:fs');
const { argv, env, pid } = process;
const call = { program: '${program}', argv: argv.slice(2), env };
const file = __dirname + '/calls/' + pid + '-' + process.hrtime.bigint();
fs.writeFileSync(file, JSON.stringify(call));
fs.renameSync(file, file + '.json');
fs.writeFileSync(1, fs.readFileSync(__filename + '.says'));
`;
