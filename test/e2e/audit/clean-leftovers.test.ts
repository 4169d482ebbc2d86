import {
  existsSync,
  mkdirSync,
  readdirSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RunStore } from '../../../src/core/runs/run-store.ts';
import { turnsDirectory } from '../../../src/core/runs/sessions/session-turns.ts';
import { idOf, makeUp, ownProcess } from '../../kit/agents/made-up-agents.ts';
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

const clean = async (...args: string[]) =>
  JSON.parse(
    (await runCommand(workspace, ['clean', ...args, '--yes', '--json'])).stdout
  );

const place = (name: string) => join(workspace.record, name);

/** Nothing that a start that is under way may need. */
function makeOld(name: string): void {
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(place(name), hourAgo, hourAgo);
}

function write(name: string, text: string): void {
  workspace.writeRecord(name, text);
  makeOld(name);
}

function squad(number: number, agentId: string): void {
  const squadId = `squad-${idOf(number)}`;
  write(
    `squads/${squadId}.json`,
    JSON.stringify({
      v: 1,
      squadId,
      created_at: '2026-01-01T00:00:00.000Z',
      stateMode: 'stateless',
      members: [{ memberId: 'm', roleId: 'r', cwd: '.', agentId }]
    })
  );
}

/** A session's turn that an agent had. */
function turn(sessionId: string, agentId: string): string {
  const store = new RunStore(place(''));
  const directory = turnsDirectory('rehearsal', sessionId, store);
  const name = directory.slice(place('').length);
  write(join(name, '1'), agentId);
  makeOld(name);
  return directory;
}

test('what belongs to no agent any more goes with the last of them', async () => {
  const [gone, kept] = [idOf(1), idOf(2)];
  makeUp(workspace.record, { agent_id: gone, daysAgo: 9, read: true });
  makeUp(workspace.record, { agent_id: kept, daysAgo: 9, toldSession: 'here' });
  squad(1, gone);
  squad(2, kept);
  const [left, reachable] = [turn('there', gone), turn('here', gone)];
  write(`drafts/${idOf(3)}.99999999.0123456789ab.tmp/record.json`, '{}');
  makeOld(`drafts/${idOf(3)}.99999999.0123456789ab.tmp`);
  write(`open/${idOf(4)}`, '');
  writeFileSync(place(`open/${idOf(5)}`), '');
  const dry = await runCommand(workspace, [
    ...['clean', '--keep', '0', '--dry-run', '--json']
  ]);
  const leftovers = { squads: 1, sessions: 1, trash: 0 };
  expect(JSON.parse(dry.stdout).leftovers).toMatchObject(leftovers);
  expect(existsSync(left)).toBe(true);
  expect((await clean('--keep', '0')).leftovers).toMatchObject(leftovers);
  expect(readdirSync(place('squads'))).toEqual([`squad-${idOf(2)}.json`]);
  expect([existsSync(left), existsSync(reachable)]).toEqual([false, true]);
  expect(readdirSync(place('drafts'))).toEqual([]);
  // One that may be about to appear stays.
  expect(readdirSync(place('open'))).toEqual([idOf(5)]);
});

test('what a killed clean has left in the trash goes, one at work keeps its own', async () => {
  const dead = JSON.stringify({ ...ownProcess, start: 'long ago' });
  const folder = (name: string, owner: string) => {
    workspace.writeRecord(`trash/${name}/owner`, owner);
    workspace.writeRecord(`trash/${name}/${idOf(1)}/stdout`, 'x');
  };
  folder('aaaaaaaaaaaa', dead);
  folder('bbbbbbbbbbbb', JSON.stringify(ownProcess));
  mkdirSync(place('spawns'));
  expect((await clean('--keep', '0')).leftovers.trash).toBe(1);
  expect(readdirSync(place('trash'))).toEqual(['bbbbbbbbbbbb']);
  const { stdout } = await runCommand(workspace, ['log']);
  expect(stdout).toContain(`cleaned    ${idOf(1)}`);
});

test('logs, councils, keys and what is not ours are left as they are', async () => {
  makeUp(workspace.record, { agent_id: idOf(1), daysAgo: 9, read: true });
  const files = [
    '.agents/council/council.json',
    '.agents/council/history/old.json',
    '.agents/spawns/notes.txt',
    '.agents/mine/file.txt',
    '.agents/heads/0badcafe',
    'api_keys.json',
    'logs/archive/mine.md',
    'logs/iac.jsonl'
  ].map((name) => workspace.write(name, '{}'));
  const records = ['spawns/notes.txt', 'mine/file.txt', 'heads/0badcafe'];
  for (const name of records) files.push(workspace.writeRecord(name, '{}'));
  await clean('--keep', '0', '--workers');
  expect(existsSync(place(`spawns/${idOf(1)}`))).toBe(false);
  for (const file of files) expect(existsSync(file), file).toBe(true);
});
