import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const hint = (label: string) =>
  `\nRun "troupe doctor" to see whether this version of ${label} was tested.`;

/** Runs an agent whose program is a stand-in. */
async function failure(engine: string, command: string, body: string) {
  workspace.program(command, `require('node:fs').readFileSync(0);\n${body}`);
  const args = ['run', engine, 'hello', '--json'];
  const { code, stdout } = await runCommand(workspace, args);
  const { status, error_code, error } = JSON.parse(stdout);
  return { code, status, error_code, error };
}

test('a program that no longer knows a flag fails with its words and a way on', async () => {
  const refusal = "error: unexpected argument '--json' found";
  const failed = await failure(
    'codex',
    'codex',
    `console.error(${JSON.stringify(`WARNING: old.\n${refusal}\n\nUsage: codex exec`)});
     process.exit(2);`
  );
  expect(failed).toEqual({
    code: 2,
    status: 'failed',
    error_code: 'spawn_failed',
    error: `Codex refused its arguments: ${refusal}${hint('Codex')}`
  });
});

test('its words are found before pages of help', async () => {
  const failed = await failure(
    'gemini-cli',
    'gemini',
    `console.error('Unknown arguments: raw-output, rawOutput');
     console.error('  --quota  of the network, 429\\n'.repeat(100));
     process.exit(1);`
  );
  expect(failed).toMatchObject({
    error_code: 'spawn_failed',
    error: `Gemini CLI refused its arguments: Unknown arguments: raw-output, rawOutput${hint('Gemini CLI')}`
  });
});

test('events of another version are reported as such', async () => {
  const failed = await failure(
    'claude',
    'claude',
    `console.log('{"type":"outcome","text":"Done."}');`
  );
  expect(failed).toMatchObject({
    status: 'failed',
    error_code: 'bad_output',
    error: `Claude exited with code 0 but its output ends before its final event.${hint('Claude')}`
  });
});

test('an engine without tested versions is quoted without the hint', async () => {
  const refusal = "error: unknown option '--trust'";
  const failed = await failure(
    'cursor-agent',
    'cursor-agent',
    `console.error(${JSON.stringify(refusal)}); process.exit(1);`
  );
  expect(failed).toMatchObject({
    error_code: 'spawn_failed',
    error: `Cursor refused its arguments: ${refusal}`
  });
});
