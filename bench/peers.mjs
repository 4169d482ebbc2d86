/**
 * Compares troupe with similar servers, in turns, in one run on one machine:
 * start-up, memory, the time added to a run, 200 agents at once and 100 MB of
 * output. Needs the npm registry once.
 *
 *     --part start   only this part: start, runs, many or output
 */
import { execFileSync } from 'node:child_process';
import { ableOf } from './peers/able.mjs';
import { installPeers, troupe } from './peers/list.mjs';
import { measureMany } from './peers/many.mjs';
import { measureOutput } from './peers/output.mjs';
import { measureRuns } from './peers/run-once.mjs';
import { measureStart } from './peers/start.mjs';
import { runBench } from './support.mjs';

const parts = {
  start: measureStart,
  runs: measureRuns,
  many: measureMany,
  output: measureOutput
};

await runBench(
  1,
  async (options) => {
    const { node, part } = options;
    if (part && !Object.hasOwn(parts, part))
      throw new Error(`--part is one of ${Object.keys(parts).join(', ')}`);
    const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
    const { peers, problem } = installed();
    if (problem) return { title: 'Peers', rows: [], notes: [problem] };
    const all = [troupe(options.troupe), ...peers];
    const { able, problems } = await ableOf(all, node);
    const reports = [];
    for (const measure of part ? [parts[part]] : Object.values(parts)) {
      // Pending writes would slow the next measurement.
      execFileSync('sync');
      reports.push(await measure(able, { node, version }));
    }
    return reports.flat().map(({ notes = [], ...report }) => ({
      ...report,
      notes: [...notes, ...problems]
    }));
  },
  { part: { type: 'string' } }
);

/** The installed peers, or the problem without the registry. */
function installed() {
  try {
    return { peers: installPeers() };
  } catch ({ message }) {
    return { problem: `Not measured: ${message.split('\n').at(-1)}` };
  }
}
