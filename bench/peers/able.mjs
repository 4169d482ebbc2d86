/** Finds the servers that start on this machine. */
import { isOurs, titleOf } from './list.mjs';
import { Session } from './session.mjs';
import { setStage } from './stage.mjs';

/**
 * @param node the Node binary that starts them
 * @returns the servers that answer, and the problems of the others
 * @throws Error when troupe does not answer
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
