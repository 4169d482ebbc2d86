/** Measures calls in a council with thousands of responses. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { content, send, withServers } from './council-servers.mjs';

export const thousands = 10_000;

/** Times calls of two servers in turn, among 10,000 responses. */
export function measureLarge(options) {
  return withServers(options, 2, async ([one, other], path) => {
    const state = JSON.parse(readFileSync(path, 'utf8'));
    const [request] = state.requests;
    state.feedback = Array.from({ length: thousands }, (_, index) => ({
      id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      request_id: request.id,
      author: `agent ${index % 8}`,
      content,
      created_at: request.created_at
    }));
    writeFileSync(path, JSON.stringify(state));
    const cursor = state.feedback.at(-1).id;
    const get = (server, from) =>
      server.call('get_current_session_data', {
        agent_name: 'reader',
        ...(from ? { cursor: from } : {})
      });
    const samples = { send: [], sendInTurn: [], get: [], first: [] };
    const time = async (list, call) => {
      const from = performance.now();
      await call();
      list.push(performance.now() - from);
    };
    for (let index = 0; index < 15; index += 1) {
      await send(one, 'writer');
      await time(samples.send, () => send(one, 'writer'));
      await time(samples.get, () => get(one, cursor));
      await time(samples.first, () => get(one));
      await time(samples.sendInTurn, () => send(other, 'another'));
    }
    const { size } = statSync(path);
    return { ...samples, size, memory: one.memory().peak };
  });
}
