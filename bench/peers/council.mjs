/** Measures the published council with several of its processes at once. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ableOf } from './able.mjs';
import { installPeers } from './list.mjs';
import { Session } from './session.mjs';
import { setStage } from './stage.mjs';

const each = 75;

/** Undefined when it cannot be installed or does not start. */
export async function councilPeer() {
  try {
    const isCouncil = ({ program }) => program === 'council';
    const { able, problems } = await ableOf(installPeers().filter(isCouncil));
    if (problems.length > 0) throw new Error(problems.join());
    return able[0];
  } catch (error) {
    console.error(`Without the published council: ${error.message}`);
    return undefined;
  }
}

/**
 * Milliseconds for each acknowledged response, the number of responses that
 * the file then has, and the milliseconds of each call.
 * @param lanes concurrent calls of each process
 */
export async function timePeer(peer, processes, content, lanes) {
  const stage = setStage({});
  const sessions = Array.from(
    { length: processes },
    () => new Session(peer, stage)
  );
  const seen = { calls: [], acknowledged: 0, failed: 0 };
  const sendAll = () =>
    Promise.all(
      sessions.flatMap((session) =>
        Array.from({ length: lanes }, () =>
          sendSome(session, content, each / lanes, seen)
        )
      )
    );
  try {
    const [first, ...others] = sessions;
    await Promise.all(sessions.map((session) => session.initialize()));
    const request = 'What is best?';
    await first.call(['start_council', { agent_name: 'agent 0', request }]);
    for (const [index, session] of others.entries())
      await session.call([
        'join_council',
        { agent_name: `agent ${index + 1}` }
      ]);
    await sendAll();
    const before = seen.acknowledged;
    seen.calls = [];
    const from = performance.now();
    await sendAll();
    const ms = (performance.now() - from) / (seen.acknowledged - before);
    return { ...seen, ms, kept: keptIn(stage.home) };
  } finally {
    await Promise.all(sessions.map((session) => session.close()));
    stage.remove();
  }
}

async function sendSome(session, content, count, seen) {
  for (let sent = 0; sent < count; sent += 1) {
    const from = performance.now();
    try {
      await session.call(['send_response', { content }]);
      seen.acknowledged += 1;
    } catch {
      seen.failed += 1;
    }
    seen.calls.push(performance.now() - from);
  }
}

function keptIn(home) {
  const path = join(home, '.agents-council', 'state.json');
  if (!existsSync(path)) return 0;
  return JSON.parse(readFileSync(path, 'utf8')).feedback.length;
}
