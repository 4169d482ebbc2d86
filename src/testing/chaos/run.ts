import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readIfThere } from '../../core/state/atomic-file.ts';
import { randomFrom } from '../random.ts';
import { until } from '../until.ts';
import { Diary } from './diary.ts';
import { gather, panesOf } from './gather.ts';
import { Injector } from './injector.ts';
import { measure, tidyUp } from './janitor.ts';
import { faultsOf } from './judge.ts';
import { startSquads, talk, typeCommands } from './others.ts';
import { reportOf } from './report.ts';
import { Servers } from './servers.ts';
import { type Player, spawnAgents } from './spawning.ts';
import { type ChaosStage, createChaosStage } from './stage.ts';
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
  // One for each who acts: then nobody's luck depends on another's haste.
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
    await until(
      'no agent to be open',
      () => isIdle(stage.state('open')),
      120_000
    ).catch((error) => diary.problem(String(error)));
    servers.look(true);
    await servers.close();
    const last = await servers.start([], true);
    if (!last) throw new Error('The last server did not start.');
    // If it does not, the judge tells what is missing.
    await until('IAC.md to be true', () => isShown(stage)).catch(
      () => undefined
    );
    // One that was opened as its server was killed goes a minute later.
    await until(
      'panes to be gone',
      () => panesOf(stage).length === 0,
      65_000
    ).catch(() => undefined);
    servers.look();
    measure(player('janitor'), false);
    const evidence = await gather({
      ...{ stage, servers, diary, gone },
      last: last.client
    });
    faults = faultsOf(evidence);
    report = reportOf(evidence, servers, diary, seconds, seed);
  } catch (error) {
    faults = [...diary.seen, `the run itself: ${String(error)}`];
  } finally {
    injector.letGo();
    await servers.close();
  }
  const kept = faults.length > 0 ? stage.path : undefined;
  if (kept) keep(kept, faults, diary, servers);
  stage.close(kept === undefined);
  return { faults, report, kept, done: diary.counts };
}

/** For who has to understand it. */
function keep(
  path: string,
  faults: string[],
  diary: Diary,
  servers: Servers
): void {
  const told = servers
    .evidence()
    .filter(({ stderr }) => stderr !== '')
    .map(({ name, stderr }) => `== ${name}\n${stderr}`);
  const files = { faults, story: diary.story, stderr: told };
  for (const [name, lines] of Object.entries(files))
    writeFileSync(join(path, '..', `${name}.txt`), `${lines.join('\n')}\n`);
}

function isShown({ path, state }: ChaosStage): boolean {
  const text = readIfThere(join(path, 'logs', 'IAC.md')) ?? '';
  return isIdle(state('open')) && !text.includes('**Running**');
}

function isIdle(marks: string): boolean {
  try {
    return readdirSync(marks).every((name) => name === '.gitignore');
  } catch {
    return true;
  }
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
