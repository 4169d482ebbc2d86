/** Of us and our peers those that start on this machine. */
import { isOurs, titleOf } from './list.mjs';
import { Session } from './session.mjs';
import { setStage } from './stage.mjs';

/**
 * @param node that starts them
 * @returns those that answer, and why others do not
 * @throws Error where ours does not
 */
export async function ableOf(all, node) {
  const able = [];
  const problems = [];
  for (const peer of all) {
    const problem = await problemOf(peer, node);
    if (problem === undefined) able.push(peer);
    else if (isOurs(peer)) throw problem;
    else problems.push(`${titleOf(peer)}: ${problem.message}.`);
  }
  return { able, problems };
}

async function problemOf(peer, node) {
  const stage = setStage({});
  const session = new Session(peer, stage, node);
  try {
    await session.initialize();
    return undefined;
  } catch (error) {
    return error;
  } finally {
    await session.close();
    stage.remove();
  }
}
