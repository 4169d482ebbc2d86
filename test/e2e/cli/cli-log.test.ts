import {
  appendFileSync,
  readdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand, startCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let journal: string;

beforeEach(async () => {
  workspace = createTempWorkspace();
  journal = join(workspace.record, 'iac.jsonl');
  await troupe(['run', 'rehearsal', 'say first']);
  await troupe(['run', 'rehearsal', 'fail auth second']);
});

afterEach(() => workspace.remove());

const troupe = (args: string[]) => runCommand(workspace, args);

/** The journal's records, without the empty lines between them. */
const records = () => readFileSync(journal, 'utf8').split('\n').filter(Boolean);

/** Puts back other lines; the empty ones stay where they were. */
function rewrite(change: (lines: string[]) => string[]): void {
  const lines = readFileSync(journal, 'utf8').split('\n');
  writeFileSync(journal, change(lines).join('\n'));
}

/** Where an editor shows the line, from 1. */
function lineOf(text: string): number {
  const lines = readFileSync(journal, 'utf8').split('\n');
  return lines.findIndex((line) => line.includes(text)) + 1;
}

test('log is a table of the last entries, oldest first', async () => {
  const { code, stdout } = await troupe(['log']);
  expect(code).toBe(0);
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((row) => row.split(/ {2,}/).slice(1).join(' | '));
  expect(rows).toEqual([
    'EVENT | AGENT | ENGINE | WHAT',
    expect.stringMatching(/^spawned \| [0-9a-f]{8} \| rehearsal \| say first$/),
    expect.stringMatching(/^completed \| .* \| rehearsal \| \d\.\d s, \$0$/),
    expect.stringMatching(/^spawned \| .* \| rehearsal \| fail auth second$/),
    expect.stringMatching(/^failed \| .* \| rehearsal \| \d\.\d s: second$/)
  ]);
  const last = await troupe(['log', '-n', '1']);
  expect(last.stdout.trimEnd().split('\n')).toHaveLength(2);
  expect(last.stdout).toMatch(/failed/);
});

test('log --json gives the journal lines as they are', async () => {
  const { stdout } = await troupe(['log', '--json']);
  expect(stdout.trimEnd().split('\n')).toEqual(records());
  const last = await troupe(['log', '--json', '-n', '2']);
  expect(last.stdout.trimEnd().split('\n')).toEqual(records().slice(-2));
});

test('log --verify counts what holds', async () => {
  const { code, stdout } = await troupe(['log', '--verify']);
  expect(code).toBe(0);
  expect(stdout).toBe(
    `${journal}: records 4, chains 2, torn lines 0\nEvery chain holds.\n`
  );
  const json = await troupe(['log', '--verify', '--json']);
  expect(JSON.parse(json.stdout)).toEqual({
    ok: true,
    journal,
    records: 4,
    chains: 2,
    torn: 0,
    first_broken_file: null,
    first_broken_line: null,
    faults: []
  });
});

test('log --verify names the line that was edited', async () => {
  const line = lineOf('"fail auth second"');
  rewrite((lines) =>
    lines.map((text) => text.replaceAll('fail auth second', 'something else'))
  );
  const { code, stdout } = await troupe(['log', '--verify', '--json']);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, records: 4 });
  // Its chain breaks there, or at the record that no longer fits it.
  expect([line, line + 2]).toContain(JSON.parse(stdout).first_broken_line);
});

test('log --verify finds a line that was deleted', async () => {
  rewrite((lines) => lines.filter((text) => !text.includes('"say first"')));
  const { code, stdout } = await troupe(['log', '--verify']);
  expect(code).toBe(1);
  expect(stdout).toContain('records 3');
  const line = lineOf('"type":"finished"');
  expect(stdout).toMatch(
    new RegExp(`First broken line: ${line}: record 0 .* missing`)
  );
});

test('log --verify finds a tail that was cut off', async () => {
  const last = records().at(-1) ?? '';
  rewrite((lines) => lines.slice(0, lines.indexOf(last)));
  const { code, stdout } = await troupe(['log', '--verify']);
  expect(code).toBe(1);
  expect(stdout).toContain('records 3');
  const line = lineOf('"fail auth second"');
  expect(stdout).toMatch(new RegExp(`First broken line: ${line}: .* missing`));
});

test('log --head prints the end of each chain, as its writer noted it', async () => {
  const { code, stdout } = await troupe(['log', '--head']);
  expect(code).toBe(0);
  const directory = join(workspace.record, 'heads');
  const noted = readdirSync(directory)
    .filter((name) => name !== '.gitignore')
    .map((writer) =>
      `${writer} ${readFileSync(join(directory, writer), 'utf8')}`.trim()
    );
  const heads = stdout.trimEnd().split('\n');
  expect(heads.map((head) => head.replaceAll(/ +/g, ' ')).sort()).toEqual(
    noted.sort()
  );
  const json = await troupe(['log', '--head', '--json']);
  const asText = JSON.parse(json.stdout).heads.map(
    ({ writer, n, hash }: Record<string, unknown>) => `${writer} ${n} ${hash}`
  );
  expect(asText.sort()).toEqual(noted.sort());
});

test('log --follow goes on with what happens next, until Ctrl-C', async () => {
  const command = startCommand(workspace, ['log', '--follow', '-n', '1']);
  await command.says('stdout', /failed/);
  await troupe(['run', 'rehearsal', 'say third']);
  await command.says('stdout', /spawned .* say third\n.* completed/);
  command.child.kill('SIGINT');
  const { code, stdout, stderr } = await command.exited;
  expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
  expect(stdout).not.toContain('first');
});

test('log shows a record it does not understand, and passes over torn ones', async () => {
  appendFileSync(
    journal,
    '\n{"writer":"00000000","n":0,"prev":"0","at":7,"type":"odd","agent_id":"\\u001b[31m"}\n{"writer":"000'
  );
  const { code, stdout } = await troupe(['log', '-n', '1']);
  expect(code).toBe(0);
  expect(stdout).toContain('"type":"odd"');
  expect(stdout).not.toContain('\u001b');
});

test('one question at a time', async () => {
  const { code, stderr } = await troupe(['log', '--verify', '--head']);
  expect(code).toBe(1);
  expect(stderr).toContain('--head');
});
