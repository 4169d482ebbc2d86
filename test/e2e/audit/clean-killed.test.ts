import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../kit/agents/made-up-agents.ts';
import { seededRandom } from '../../kit/judges/random.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand, startCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const random = seededRandom('clean killed');
/** `TROUPE_CLEAN_ROUNDS=100` for a release. */
const rounds = Number(process.env.TROUPE_CLEAN_ROUNDS) || 10;
const perRound = 10;
/** To remove them all takes long enough to be killed amid it. */
const filesEach = 300;

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const place = (name: string) => join(workspace.record, name);

function ids(): string[] {
  return existsSync(place('spawns')) ? readdirSync(place('spawns')) : [];
}

const filesOf = (id: string) =>
  readdirSync(place(`spawns/${id}`), { recursive: true })
    .map(String)
    .sort();

function cleaned(): Map<string, number> {
  const path = join(workspace.record, 'iac.jsonl');
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const counts = new Map<string, number>();
  for (const [, id = ''] of text.matchAll(
    /"type":"cleaned","agent_id":"([0-9a-f]{8})"/g
  ))
    counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

test('a clean that is killed leaves whole folders, and the next one the rest', async () => {
  const all = new Set<string>();
  let whole: string[] = [];
  let amid = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (let number = 0; number < perRound; number += 1) {
      const agent_id = idOf(round * perRound + number + 1);
      const facts = { agent_id, daysAgo: 1, read: true, patch: 'x' };
      const chat = join(makeUp(workspace.record, facts), 'chat');
      mkdirSync(chat);
      for (let file = 0; file < filesEach; file += 1)
        writeFileSync(join(chat, String(file)), '');
      whole = filesOf(agent_id);
      all.add(agent_id);
    }
    const before = ids().length;
    const command = startCommand(workspace, ['clean', '--keep', '0', '--yes']);
    await until('the first one to go', () => ids().length < before);
    await delay(random.between(0, 6));
    command.child.kill('SIGKILL');
    await command.exited;
    if (ids().length > 0) amid += 1;
    for (const id of ids()) expect(filesOf(id)).toEqual(whole);
  }
  // Else they were killed too late to show anything.
  process.stderr.write(`killed amid: ${amid} of ${rounds}\n`);
  expect(amid).toBeGreaterThan(rounds / 3);
  const last = await runCommand(workspace, ['clean', '--keep', '0', '--yes']);
  expect(last.code, last.stderr).toBe(0);
  expect(ids()).toEqual([]);
  expect(readdirSync(place('trash'))).toEqual(['.gitignore']);
  const told = cleaned();
  expect(new Set(told.keys())).toEqual(all);
  // Reported twice at most, where the kill fell between two moves.
  expect(Math.max(...told.values())).toBeLessThanOrEqual(2);
  const patches = readdirSync(place('diffs'));
  expect(patches.filter((name) => name.endsWith('.diff'))).toHaveLength(
    all.size
  );
  const verified = await runCommand(workspace, ['log', '--verify']);
  expect(verified.code, verified.stdout).toBe(0);
});
