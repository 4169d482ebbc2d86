import { fact } from './statistics.mjs';

/** In percent. */
const reach = 85;

/** The rows and notes of all draws: one sum, and the survivors of each. */
export function drawsReport(draws) {
  const judged = sumOf(draws, (draw) => draw.judged);
  const shareWithout = (missed) => {
    const share = judged === 0 ? 0 : (100 * (judged - missed)) / judged;
    return {
      share,
      text: `${judged - missed} of ${judged}, ${share.toFixed()} %`
    };
  };
  const drawn = shareWithout(sumOf(draws, ({ survivors }) => survivors.length));
  const now = shareWithout(sumOf(draws, (draw) => leftIn(draw).length));
  return {
    rows: [
      fact(
        'detected by the unit tests near them, when they were drawn',
        undefined,
        drawn.text
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
    notes: draws.flatMap(notesOf)
  };
}

function sumOf(draws, count) {
  return draws.reduce((sum, draw) => sum + count(draw), 0);
}

/** The survivors that no test detects by now. */
function leftIn({ survivors, since = {} }) {
  return survivors.filter((defect) => !since[defect]);
}

function notesOf(draw) {
  const { on, seed, planted, judged, survivors, since = {}, why = {} } = draw;
  const fateOf = (defect) => {
    if (since[defect]) return since[defect];
    return why[defect] ? `not detected: ${why[defect]}` : 'not detected';
  };
  const [then, now] = [survivors, leftIn(draw)].map(
    ({ length }) => judged - length
  );
  return [
    `Drawn on ${on}: ${planted} defects with seed ${seed}, of which ${judged} could be judged: the tests near them pass without the defect. Detected when drawn: ${then}, by now: ${now}.`,
    ...survivors.map((defect) => `\`${defect}\`: ${fateOf(defect)}`)
  ];
}
