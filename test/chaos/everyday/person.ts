import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { until } from '../../kit/judges/until.ts';
import { behaviourOf } from '../behaviours.ts';
import type { Act } from './deck.ts';
import { type EverydayPlayer, factsOf, openAgents } from './player.ts';
import { otherBranch } from './stage.ts';

/** Promised are 2 seconds, of a machine that has nothing else to do. */
const viewsMs = 10_000;

/** What people do in a workspace without a thought of the agents in it. */
export const workspaceActs: Act[] = [
  {
    what: 'git clean -ffdx',
    play: (player) =>
      wipe(player, () => ignoring(() => player.stage.git('clean', '-ffdxq')))
  },
  {
    what: 'rm -rf .agents logs',
    play: (player) => wipe(player, () => removeBoth(player))
  },
  { what: 'branch switch', play: switchBranch },
  {
    what: 'removed views',
    play: async (player) => {
      const { directory } = player.stage.paths.views;
      for (const name of ['IAC.md', 'CONTEXT.md'])
        if (player.random.next() < 0.7)
          rmSync(join(directory, name), { force: true });
      await seeViews(player);
    }
  },
  {
    what: 'removed journal',
    play: async ({ stage, diary }) => {
      rmSync(stage.paths.journal, { force: true });
      diary.journalsRemoved.push(Date.now());
    }
  },
  { what: 'full disk', play: fill }
];

/** Takes away what is ours in the workspace, with worktrees in it. */
async function wipe(player: EverydayPlayer, act: () => void): Promise<void> {
  const { diary } = player;
  const before = isolatedIn(player);
  const time = { from: Date.now(), until: Number.POSITIVE_INFINITY };
  diary.wipes.push(time);
  act();
  const after = isolatedIn(player);
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    const isThrough = before.get(id) && after.get(id);
    diary.injure(id, isThrough ? 'wiped worktree' : 'perhaps wiped worktree');
  }
  time.until = Date.now();
  await seeViews(player);
}

/** Open agents with a worktree; whether each is surely at work. */
function isolatedIn(player: EverydayPlayer): Map<string, boolean> {
  const isolated = openAgents(player).filter((id) => {
    const { kind = 'fast' } = player.diary.agents.get(id) ?? {};
    return behaviourOf(kind).isolate;
  });
  return new Map(
    isolated.map((id) => {
      const facts = factsOf(player, id);
      return [id, facts.includes('start') && !facts.includes('finish')];
    })
  );
}

function removeBoth({ stage }: EverydayPlayer): void {
  for (const name of ['.agents', 'logs'])
    ignoring(() =>
      rmSync(join(stage.path, name), { recursive: true, force: true })
    );
  // The project's own below it.
  ignoring(() => stage.git('checkout', '--quiet', '--', '.agents'));
}

async function switchBranch(player: EverydayPlayer): Promise<void> {
  const { stage, random } = player;
  stage.git('checkout', '--quiet', '--force', otherBranch);
  await delay(random.between(100, 600));
  stage.git('checkout', '--quiet', '--force', 'main');
  await seeViews(player);
}

/** All that had ended before is in the log again. */
async function seeViews(player: EverydayPlayer): Promise<void> {
  const { stage, diary } = player;
  const { directory } = stage.paths.views;
  const since = Math.max(0, ...diary.journalsRemoved);
  const began = Date.now();
  const completedAt = (id: string) => {
    const text = readIfExists(stage.state('spawns', id, 'outcome.json'));
    return text ? Date.parse(JSON.parse(text).completed_at) : 0;
  };
  const ended = [...diary.endedAt.keys()]
    .filter((id) => completedAt(id) > since + 2000)
    .filter((id) => !diary.isHurt(id));
  const missing = () => {
    const text = logIn(directory);
    const ids = ended.filter((id) => !text.includes(id));
    if (!existsSync(join(directory, 'CONTEXT.md'))) ids.push('CONTEXT.md');
    return ids;
  };
  try {
    await until('views', () => missing().length === 0, viewsMs);
    diary.viewsBack.push(Date.now() - began);
  } catch {
    if (diary.wasFull(began - 5000, Date.now())) return;
    diary.problem(`views without ${missing()} ${viewsMs} ms later`);
  }
}

/** IAC.md, and what was moved from it. */
function logIn(directory: string): string {
  const archive = join(directory, 'archive');
  const archived = existsSync(archive) ? readdirSync(archive) : [];
  return [
    join(directory, 'IAC.md'),
    ...archived.map((name) => join(archive, name))
  ]
    .map((path) => readIfExists(path) ?? '')
    .join('\n');
}

async function fill({ stage, diary, random }: EverydayPlayer): Promise<void> {
  const { disk } = stage;
  if (!disk) return;
  const time = { from: Date.now(), until: Number.POSITIVE_INFINITY };
  diary.full.push(time);
  ignoring(() => disk.setTight(true));
  await delay(random.between(300, 1500));
  disk.setTight(false);
  time.until = Date.now();
}

/** A person goes on when a command fails because of a concurrent write. */
function ignoring(act: () => unknown): void {
  try {
    act();
  } catch {
    // What is left is left.
  }
}
