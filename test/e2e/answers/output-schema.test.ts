import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { outputDocuments } from '../../../src/cli/json/output-schema.ts';
import { type GoldenStage, goldenStage } from '../../golden/golden-stage.ts';
import { askOf, resultOf, spawnAsker } from '../../kit/servers/ask-calls.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import { createdWorker } from '../../kit/servers/orchestrator-calls.ts';
import { createGitWorkspace } from '../../kit/workspaces/git-workspace.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

type Name = keyof typeof outputDocuments;

let stage: GoldenStage;

beforeAll(async () => {
  stage = await goldenStage({ running: true });
});

afterAll(() => stage.stop());

const seen = new Set<string>();

/** The faults of a document; undeclared keys are faults, too. */
function faultsOf(name: Name, text: string): unknown {
  seen.add(name);
  return outputDocuments[name].safeParse(JSON.parse(text)).error?.issues ?? [];
}

const cases: [Name, string[], number][] = [
  ['list', ['list'], 0],
  ['result', ['result', 'a0000002'], 0],
  ['result', ['result', 'a0000002', '--offset', '5'], 0],
  ['result', ['result', 'b0000007'], 2],
  ['result', ['result', '00000000'], 1],
  ['run', ['run', 'rehearsal', 'say hello'], 0],
  ['run', ['run', 'rehearsal', 'fail auth no'], 2],
  ['run_background', ['run', 'rehearsal', 'say hello', '-b'], 0],
  ['run_background', ['run', 'rehearsal', 'say hello', '--background'], 0],
  ['ask', ['ask', '--engines', 'rehearsal', 'say hello'], 0],
  ['ask', ['ask', '--engines', 'rehearsal', 'fail auth no'], 2],
  ['diff', ['diff', 'a0000002'], 1],
  ['apply', ['apply', 'a0000002'], 1],
  ['error', ['continue', 'a0000002', 'say hello'], 1],
  ['wait', ['wait', 'a0000001', 'b0000005'], 2],
  ['wait', ['wait', '--timeout', '0.1'], 3],
  ['watch', ['watch'], 0],
  ['cancel', ['cancel', 'b0000007'], 0],
  ['clean', ['clean', '--older-than', '1d', '--dry-run'], 0],
  ['clean', ['clean', 'a0000001', '--yes'], 0],
  ['clean_disk', ['clean'], 0],
  ['clean_orphans', ['clean', '--orphans', '--dry-run'], 0],
  ['record', ['record'], 0],
  ['log_verify', ['log', '--verify'], 0],
  ['log_head', ['log', '--head'], 0],
  ['engines', ['engines'], 0],
  ['roles', ['roles'], 0],
  ['role', ['roles', 'code-reviewer'], 0],
  ['role', ['roles', 'nobody'], 1],
  ['doctor', ['doctor'], 0],
  ['config', ['config'], 0],
  ['trust', ['trust'], 0],
  ['trust_list', ['trust', '--list'], 0],
  ['trust_revoke', ['trust', '--revoke'], 0],
  ['init', ['init'], 0],
  ['init', ['init', 'claude', 'codex', '--dry-run'], 0],
  ['error', ['run', 'nobody', 'x'], 1],
  ['error', ['cancel', '00000000'], 1],
  ['error', ['list', '--limit', 'ten'], 1]
];

test.each(cases)(
  '%s: %j prints what the schema says, and no key more',
  async (name, args, expected) => {
    const { code, stdout } = await runCommand(stage.workspace, [
      ...args,
      '--json'
    ]);
    expect(code).toBe(expected);
    expect(faultsOf(name, stdout)).toEqual([]);
  }
);

test('log prints lines that the schema knows, all of them', async () => {
  await runCommand(stage.workspace, ['clean', 'b0000004', '--yes']);
  const command = ['run', 'rehearsal', `say ${'long '.repeat(4000)}`];
  await runCommand(stage.workspace, command);
  const { stdout } = await runCommand(stage.workspace, [
    ...['log', '-n', '1000', '--json']
  ]);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(15);
  expect(lines.flatMap((line) => faultsOf('log', line))).toEqual([]);
  expect(stdout).toContain('"type":"cleaned"');
  expect(stdout).toContain('"sha256"');
});

test('a broken journal, faults of plugins and roles are in the schema', async () => {
  const workspace = createTempWorkspace();
  try {
    workspace.write('.trouperc.json', '{ "plugins": ["./none.mjs"] }');
    workspace.write('agents/bad.md', '---\naccess: all\n---\nx\n');
    const troupe = async (...args: string[]) =>
      (await runCommand(workspace, [...args, '--json'])).stdout;
    await troupe('run', 'rehearsal', 'say x');
    appendFileSync(
      join(workspace.record, 'iac.jsonl'),
      `\n{"writer":"00000000","n":1,"prev":"${'0'.repeat(64)}","type":"finished","agent_id":"x"}\n`
    );
    const broken = await troupe('log', '--verify');
    expect(JSON.parse(broken)).toMatchObject({ ok: false });
    expect(faultsOf('log_verify', broken)).toEqual([]);
    const roles = await troupe('roles');
    expect(JSON.parse(roles).faults).toHaveLength(1);
    expect(faultsOf('roles', roles)).toEqual([]);
    expect(faultsOf('role', await troupe('roles', 'bad'))).toEqual([]);
    const doctor = await troupe('doctor');
    expect(JSON.parse(doctor).faults).toHaveLength(1);
    expect(faultsOf('doctor', doctor)).toEqual([]);
    expect(faultsOf('list', await troupe('list'))).toEqual([]);
  } finally {
    workspace.remove();
  }
});

test('asks and their answers are in the schema', async () => {
  const workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{ "engines": { "rehearsal": true } }');
  const server = await startServer(workspace);
  try {
    const id = await spawnAsker(server, 'ask Which? | this | that');
    const ask_id = await askOf(server, id);
    const troupe = async (...args: string[]) =>
      (await runCommand(workspace, [...args, '--json'])).stdout;
    expect(faultsOf('asks', await troupe('asks'))).toEqual([]);
    for (const name of ['list', 'watch'] as const) {
      const shown = await troupe(name);
      expect(shown).toContain('"asking"');
      expect(faultsOf(name, shown)).toEqual([]);
    }
    const answered = await troupe('answer', ask_id, 'this');
    expect(faultsOf('answer', answered)).toEqual([]);
    expect(await resultOf(server, id)).toContain('Which? this (person)');
    const lines = (await troupe('log')).trimEnd().split('\n');
    expect(lines.flatMap((line) => faultsOf('log', line))).toEqual([]);
  } finally {
    await server.close();
    workspace.remove();
  }
});

test('changed files, a worktree, workers and members are in the schema', async () => {
  const workspace = createGitWorkspace();
  workspace.write(
    '.trouperc.json',
    '{ "engines": { "rehearsal": true }, "orchestrator": { "backend": "process" } }'
  );
  const server = await startServer(workspace, {
    flags: ['--toolsets', 'orchestrator,squad,runs', '--engine', 'rehearsal']
  });
  try {
    await createdWorker(server, { engine: 'rehearsal' });
    await server.call('start_squad_members', {
      members: [{ roleId: 'code-reviewer', task: 'say fine' }]
    });
    await server.call('wait_for_agents', { timeout: 30 });
    const isolated = await runCommand(workspace, [
      ...['run', 'rehearsal', 'write a.txt hi', '--isolate', '--json']
    ]);
    expect(JSON.parse(isolated.stdout).files_changed).toHaveLength(1);
    expect(faultsOf('run', isolated.stdout)).toEqual([]);
    const { agent_id } = JSON.parse(isolated.stdout);
    for (const name of ['diff', 'apply'] as const) {
      const ran = await runCommand(workspace, [name, agent_id, '--json']);
      expect(ran.code).toBe(0);
      expect(faultsOf(name, ran.stdout)).toEqual([]);
    }
    const { stdout } = await runCommand(workspace, ['list', '--json']);
    const { workers, ended } = JSON.parse(stdout);
    expect([workers.length, ended.length]).toEqual([1, 2]);
    expect(faultsOf('list', stdout)).toEqual([]);
    const ids = ended.map((row: { agent_id: string }) => row.agent_id);
    const all = await runCommand(workspace, ['wait', ...ids, '--json']);
    expect(all.stdout).toContain('"roleId": "code-reviewer"');
    expect(faultsOf('wait', all.stdout)).toEqual([]);
  } finally {
    await server.close();
    workspace.remove();
  }
});

test('every document of the schema was seen', () => {
  expect([...seen].sort()).toEqual(Object.keys(outputDocuments).sort());
});
