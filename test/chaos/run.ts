import { setTimeout as delay } from 'node:timers/promises';
import { randomFrom } from '../kit/judges/random.ts';
import { conclude, keep } from './conclude.ts';
import { Diary } from './diary.ts';
import { Injector } from './injector.ts';
import { tidyUp } from './janitor.ts';
import { faultsOf } from './judge.ts';
import { startSquads, talk, typeCommands } from './others.ts';
import { reportOf } from './report.ts';
import { Servers } from './servers.ts';
import { type Player, spawnAgents } from './spawning.ts';
import { createChaosStage } from './stage.ts';
import { dismiss, employ } from './workers.ts';

export interface ChaosRun {
  faults: string[];
  report: Record<string, unknown>;
  /** How often what was done. */
  done: Map<string, number>;
  /** The workspace, when it was kept. */
  kept: string | undefined;
}

const lanes = 6;
const talkers = 4;

/** Lets everything loose in one workspace for a while, and judges it. */
export async function runChaos(
  seconds: number,
  seed: number
): Promise<ChaosRun> {
  const stage = createChaosStage();
  const diary = new Diary();
  let strands = 0;
  // One for each actor, so that the speed of one does not change another's choices.
  const luck = () => {
    strands += 1;
    return randomFrom(seed + strands * 7919);
  };
  const ends = performance.now() + seconds * 1000;
  const isOver = () => performance.now() > ends;
  const servers = new Servers(stage, luck(), diary);
  const player = (name: string): Player => ({
    ...{ name, stage, servers, diary, isOver },
    random: luck()
  });
  await servers.fill();
  const injector = new Injector(stage, servers, diary, luck());
  const striking = injector.run();
  const acting = [
    ...numbers(lanes).map((n) => spawnAgents(player(`agent${n}`))),
    ...numbers(talkers).map((n) => talk(player(`talker${n}`))),
    ...numbers(5).map((n) =>
      employ(player(`worker${n}`), n > 3 && stage.terminal !== undefined)
    ),
    startSquads(player('squad')),
    typeCommands(player('person')),
    tidyUp(player('janitor'))
  ].map((act) => act.catch((error) => diary.problem(String(error))));
  let faults: string[] = [];
  let report = {};
  try {
    await delay(seconds * 1000);
    injector.letGo();
    await striking;
    await Promise.all(acting);
    diary.note('all is let go');
    await servers.fill();
    const gone = new Set(
      servers.all
        .filter(({ isEnding }) => isEnding)
        .map(({ client }) => client.pid)
    );
    await dismiss(player('last'));
    const { evidence } = await conclude(player('janitor'), gone);
    faults = faultsOf(evidence);
    report = reportOf(evidence, servers, diary, seconds, seed);
  } catch (error) {
    faults = [...diary.seen, `the run itself: ${String(error)}`];
  } finally {
    injector.letGo();
    await servers.close();
  }
  const kept = faults.length > 0 ? stage.path : undefined;
  if (kept) keep(player('keeper'), faults);
  stage.close(kept === undefined);
  return { faults, report, kept, done: diary.counts };
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
