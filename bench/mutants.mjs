/**
 * Shows the last draw of `npm run mutate -- --output bench/mutants.json`: it
 * takes an hour, so it is drawn apart from the benches. `since` in that file is
 * added by hand: the test that detects a survivor by now.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fact } from './statistics.mjs';
import { runBench } from './support.mjs';

/** In percent. */
const reach = 85;

await runBench(1, () => {
  const file = join(import.meta.dirname, 'mutants.json');
  const drawn = JSON.parse(readFileSync(file, 'utf8'));
  const { on, seed, planted, judged, survivors, since = {} } = drawn;
  const left = survivors.filter((defect) => !since[defect]);
  const shareWithout = (missed) => {
    const share = (100 * (judged - missed)) / judged;
    return {
      share,
      text: `${judged - missed} of ${judged}, ${share.toFixed()} %`
    };
  };
  const now = shareWithout(left.length);
  return {
    title: 'Defects planted in production code',
    rows: [
      fact(
        'detected by the unit tests near them, when they were drawn',
        undefined,
        shareWithout(survivors.length).text
      ),
      fact(
        'detected by now, by any test that is named below',
        now.share >= reach,
        now.text,
        {
          summary: 'defects planted at random that a test detects',
          reach: `≥ ${reach} %`
        }
      )
    ],
    notes: [
      `Drawn on ${on}: ${planted} defects with seed ${seed}, of which ${judged} could be judged: the tests near them pass without the defect.`,
      ...survivors.map(
        (defect) => `\`${defect}\`: ${since[defect] ?? 'not detected'}`
      )
    ]
  };
});
