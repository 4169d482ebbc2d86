import { type Random, randomFrom } from '../../kit/judges/random.ts';
import { conclude, keep } from '../conclude.ts';
import { Diary } from '../diary.ts';
import { tidyUp } from '../janitor.ts';
import { faultsOf } from '../judge.ts';
import { medianOf, reportOf } from '../report.ts';
import type { ChaosRun } from '../run.ts';
import { Servers } from '../servers.ts';
import {
  agentActs,
  lookForSessions,
  tmuxOfAgent,
  tmuxOfUser
} from './agent-acts.ts';
import { startAgents } from './agents.ts';
import { restartContainer } from './container.ts';
import { type Act, playAll, playOnce } from './deck.ts';
import { loseRecord } from './last-act.ts';
import { workspaceActs } from './person.ts';
import type { EverydayPlayer } from './player.ts';
import { keepAsking } from './poll.ts';
import { createEverydayStage, type EverydayStage } from './stage.ts';

const lanes = 6;
const askers = 4;
/** Whatever the number of agents, on however slow a machine. */
const mostMs = 600_000;
/** Of half the times at which views were deleted; others meet a full disk. */
const mostUsualMs = 2000;

/**
 * Lets people and agents work in one workspace until there were so many
 * agents and each act was played, and judges it.
 * @param isLong whether it waits until the end of a container must be known
 * @param only the acts; default all
 */
export async function runEveryday(
  agents: number,
  seed: number,
  isLong: boolean,
  only?: string[]
): Promise<ChaosRun> {
  const began = performance.now();
  const stage = createEverydayStage();
  const diary = new Diary();
  let strands = 0;
  const luck = (): Random => {
    strands += 1;
    return randomFrom(seed + strands * 7919);
  };
  const isWanted = ({ what }: Act) => only === undefined || only.includes(what);
  const decks = decksFor(stage)
    .map((deck) => deck.filter(isWanted))
    .filter((deck) => deck.length > 0);
  // Early, as it takes minutes until the end of its agents is certain.
  const once = stage.kinds.includes('container')
    ? [restartContainer(isLong)]
    : [];
  const rounds = decks.map(() => 0);
  let isBroken = false;
  const isOver = () =>
    isBroken ||
    performance.now() - began > mostMs ||
    ((diary.counts.get('spawned') ?? 0) >= agents &&
      rounds.every((count) => count > 0));
  /** What a run lacks that was over before its time. */
  const unplayed = () => {
    const spawned = diary.counts.get('spawned') ?? 0;
    const acts = [...decks.flat(), ...once.filter(isWanted)];
    return [
      ...(spawned < agents ? [`only ${spawned} of ${agents} agents`] : []),
      ...acts
        .filter(({ what }) => !diary.counts.has(what))
        .map(({ what }) => `${what} was not played`),
      ...(medianOf(diary.viewsBack) > mostUsualMs
        ? [`deleted views are usually not back within ${mostUsualMs} ms`]
        : [])
    ];
  };
  const servers = new Servers(stage, luck(), diary, stage.outfit, stage.kinds);
  const player = (name: string): EverydayPlayer => ({
    ...{ name, stage, servers, diary, isOver },
    random: luck()
  });
  let faults: string[] = [];
  let report = {};
  try {
    await servers.fill();
    if (servers.living().length < stage.kinds.length)
      throw new Error('A server did not start.');
    const acting = [
      ...numbers(lanes).map((n) => startAgents(player(`agent${n}`))),
      ...numbers(askers).map((n) => keepAsking(player(`asker${n}`))),
      ...decks.map((acts, index) =>
        playAll(player(`person${index}`), acts, () => {
          rounds[index] = (rounds[index] ?? 0) + 1;
        })
      ),
      ...once.filter(isWanted).map((act) => playOnce(player('container'), act)),
      tidyUp(player('janitor'))
    ].map((act) =>
      act.catch((error) => {
        diary.problem(String(error.stack));
        isBroken = true;
      })
    );
    await Promise.all(acting);
    diary.note('all is let go');
    const gone = new Set(
      servers.all
        .filter(({ isEnding }) => isEnding)
        .map(({ client }) => client.pid)
    );
    const { evidence, last } = await conclude(player('judge'), gone, 180_000);
    lookForSessions(player('user'));
    faults = [...faultsOf(evidence), ...unplayed()];
    const seconds = Math.round((performance.now() - began) / 1000);
    report = reportOf(evidence, servers, diary, seconds, seed);
    faults.push(...(await loseRecord(player('last'), last)));
  } catch (error) {
    faults = [...diary.seen, ...faults, `the run itself: ${String(error)}`];
  } finally {
    await servers.close();
  }
  const kept = faults.length > 0 ? stage.path : undefined;
  if (kept) keep(player('keeper'), faults);
  stage.close(kept === undefined);
  return { faults, report, kept, done: diary.counts };
}

/** What is played side by side; in each, one act after the other. */
function decksFor({ hasTmux }: EverydayStage): Act[][] {
  const withTmux = hasTmux ? [tmuxOfAgent, tmuxOfUser] : [];
  return [workspaceActs, [...agentActs, ...withTmux]];
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
