/**
 * Puts a server under a steady, mixed load and checks that it does not leak
 * memory, file descriptors, timers or child processes.
 *
 *     --minutes 60   duration after the warm-up; default 1
 *     --period 15    seconds from round to round; default 0: no pause
 *     --warm-up 60   rounds before the first sample; default 25
 *
 * Samples are taken between rounds, when no call is pending, after a garbage
 * collection, in a server whose compilers are off. The bench measures a copy
 * of the build, so that dist/ may be rebuilt meanwhile. Caches of agents are
 * full after 200 rounds: a slope means nothing before that.
 */
import { cpSync, openSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startProbed } from './inside.mjs';
import { processesOf } from './processes.mjs';
import { configure, round, worker } from './soak-load.mjs';
import { fact, row, slopeOf } from './statistics.mjs';
import { createWorkspace, runBench } from './support.mjs';

const hourMs = 3_600_000;
/** Every tenth round also creates and deletes a worker. */
const workerRounds = 10;
/** Megabytes that the heap may grow by over the second half. */
const growthLimit = 3;
/** Megabytes an hour; applies to runs of at least 20 minutes. */
const slopeLimit = 1;

const more = {
  minutes: { type: 'string', default: '1' },
  period: { type: 'string', default: '0' },
  'warm-up': { type: 'string', default: '25' }
};

await runBench(1, measure, more);

async function measure(options) {
  const workspace = createWorkspace();
  configure(workspace);
  const stderr = join(workspace.base, 'stderr.txt');
  const copy = copyOf(options.troupe, workspace.base);
  const { server, look } = await startProbed(
    { ...options, troupe: copy, stderr: openSync(stderr, 'a') },
    workspace,
    true
  );
  try {
    const seen = await soak(options, server, look);
    await server.close();
    const left = processesOf(workspace.base);
    return reportOf(seen, readFileSync(stderr, 'utf8'), left);
  } finally {
    await server.close();
    workspace.remove();
  }
}

async function soak(options, server, look) {
  const warmUp = Number(options['warm-up']);
  const periodMs = 1000 * Number(options.period);
  const lastsMs = 60_000 * Number(options.minutes);
  const looks = [];
  let rounds = 0;
  const work = async () => {
    const from = performance.now();
    if (rounds % workerRounds === 0) await worker(server, 5);
    await round(server, rounds);
    rounds += 1;
    if (rounds > warmUp)
      await delay(Math.max(0, periodMs - (performance.now() - from)));
  };
  while (rounds < warmUp) await work();
  const began = performance.now();
  const cpu = server.cpuMs();
  for (let ms = 0; ms < lastsMs; ms = performance.now() - began) {
    await work();
    // By then, the server has done the work that it does once a second.
    if (looks.length < (60 * ms) / lastsMs) {
      await delay(1500);
      const children = processesOf('', server.pid).length;
      looks.push({ ms, children, ...(await look()) });
    }
  }
  const ms = performance.now() - began;
  return { looks, rounds, warmUp, ms, cpu: (server.cpuMs() - cpu) / ms };
}

/** Copies the files of an installed package, with this build. */
function copyOf(troupe, base) {
  const root = join(import.meta.dirname, '..');
  const target = join(base, 'package');
  cpSync(dirname(troupe), join(target, 'dist'), { recursive: true });
  for (const part of ['package.json', 'agents', 'templates'])
    cpSync(join(root, part), join(target, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(target, 'node_modules'));
  return join(target, 'dist', 'troupe.cjs');
}

function reportOf({ looks, rounds, warmUp, ms, cpu }, stderr, left) {
  const half = looks.slice(Math.floor(looks.length / 2));
  const megabytes = (name) => looks.map((look) => look[name] / 2 ** 20);
  const heap = slopeOf(
    looks.map(({ ms, heapUsed }) => [ms, heapUsed / 2 ** 20])
  );
  const rss = slopeOf(looks.map(({ ms, rss }) => [ms, rss / 2 ** 20]));
  const grown = (half.at(-1).heapUsed - half[0].heapUsed) / 2 ** 20;
  const isLong = ms >= hourMs / 3;
  const slopes = ({ slope, error }) =>
    `${(slope * hourMs).toFixed(2)} ± ${(error * hourMs).toFixed(2)} MB an hour`;
  const same = (name, count) => {
    const all = looks.map(count);
    const [first, last] = [all[0], all.at(-1)];
    const text = `${first} at first, ${last} at last, ${Math.max(...all)} at most`;
    return fact(name, last <= first, text);
  };
  return {
    title: 'A mixed load',
    rows: [
      row('heap', megabytes('heapUsed'), { unit: 'MB' }),
      row('memory', megabytes('rss'), { unit: 'MB' }),
      fact(
        'heap, second half',
        grown < growthLimit,
        `${grown.toFixed(2)} MB more at its end (limit ${growthLimit} MB)`
      ),
      fact(
        'heap, by a line through all looks',
        isLong
          ? heap.slope * hourMs - 2 * heap.error * hourMs <= slopeLimit
          : undefined,
        slopes(heap)
      ),
      fact('memory, by a line through all looks', undefined, slopes(rss)),
      same('file descriptors', ({ descriptors }) => descriptors),
      same('timers', ({ resources }) => resources.Timeout ?? 0),
      same('what keeps a process alive', ({ resources }) =>
        Object.values(resources).reduce((sum, count) => sum + count, 0)
      ),
      same('listeners of the process', ({ listeners }) => listeners),
      same('children', ({ children }) => children),
      fact('processes left behind', left.length === 0, `${left.length}`),
      fact('stderr', stderr === '', stderr.slice(0, 300) || 'empty')
    ],
    notes: [
      `${(ms / 60_000).toFixed(0)} minutes, ${rounds} rounds, ${warmUp} of them before the first look; ${looks.length} looks, each after garbage was collected. A round has 5 spawns with waits and results, a cancel, a failure, a squad of 2, a second opinion, a council with a summoned agent, refused calls and an abandoned wait; every ${workerRounds} rounds a worker does 5 tasks, followed by its resources. Processor of the server: ${(100 * cpu).toFixed(1)}%.`,
      `Heap of every look, MB: ${megabytes('heapUsed')
        .map((value) => value.toFixed(1))
        .join(' ')}.`,
      `Resources at last: ${JSON.stringify(looks.at(-1).resources)}.`
    ]
  };
}
