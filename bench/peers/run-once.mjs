/**
 * Measures the time that a server adds to a program that answers at once,
 * from the call until the caller has the answer.
 */
import { median, row } from '../statistics.mjs';
import { timeChild } from '../support.mjs';
import { comparison } from './comparison.mjs';
import { titleOf } from './list.mjs';
import { Session } from './session.mjs';
import { setStage } from './stage.mjs';

const runs = 20;

export async function measureRuns(all, { node, version }) {
  const stage = setStage({});
  const able = all.filter(({ run, track }) => run ?? track);
  const sessions = [];
  const floor = [];
  try {
    for (const peer of able) {
      const session = new Session(peer, stage, node);
      sessions.push({ peer, session, taken: [] });
      await session.initialize();
      await answerOf(session, peer, stage);
    }
    for (let run = 0; run < runs; run += 1) {
      floor.push(
        await timeChild('claude', ['-p', 'Say ok.'], {
          cwd: stage.path,
          env: { PATH: stage.searched },
          stdio: ['ignore', 'pipe', 'ignore']
        })
      );
      for (const { peer, session, taken } of sessions)
        taken.push(await answerOf(session, peer, stage));
    }
  } finally {
    for (const { session } of sessions) await session.close();
    stage.remove();
  }
  const added = ({ taken }) => median(taken) - median(floor);
  const way = ({ track }) => (track ? 'started, then waited for' : 'one call');
  const following = sessions.filter(({ peer }) => peer.track);
  return {
    title: `Peers: a program that exits at once, Node ${version}`,
    rows: [
      row('floor: started directly, to its exit', floor),
      ...sessions.map(({ peer, taken }) =>
        row(`${titleOf(peer)}, ${way(peer)}`, taken, { floor })
      ),
      comparison(
        'troupe adds less than any peer that follows agents',
        following.map((one) => ({ peer: one.peer, amount: added(one) })),
        'ms',
        { summary: 'added to a run, of those that follow agents' }
      )
    ],
    notes: [
      `Added: ${sessions.map((one) => `${titleOf(one.peer)} ${added(one).toFixed(1)} ms`).join('; ')}.`,
      `Followed in the background, and kept on disk: ${following.map(({ peer }) => titleOf(peer)).join(', ')}. The others hold the call until the program has ended, and keep nothing.`,
      ...all
        .filter((peer) => peer.not)
        .map((peer) => `–: ${titleOf(peer)} ${peer.not}.`)
    ]
  };
}

/** Milliseconds until the caller has the answer "ok". */
async function answerOf(session, { run, track }, stage) {
  const from = performance.now();
  if (run) {
    const { text, at } = await session.call(run('Say ok.', stage.path));
    if (!text.includes('ok')) throw new Error(`answered ${text}`);
    return at - from;
  }
  const { data } = await session.call(track.start('Say ok.', stage.path));
  const id = track.idOf(data);
  const waited = await session.call(track.wait(id));
  const { text } = waited.text.includes('"ok"')
    ? waited
    : await session.call(track.result(id));
  if (!text.includes('"ok"')) throw new Error(`answered ${text}`);
  return performance.now() - from;
}
