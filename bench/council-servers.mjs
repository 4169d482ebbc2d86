/** Servers of one council, and the responses in it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspace, startServer } from './support.mjs';

export const content = 'A response is about as long as this. '
  .repeat(9)
  .slice(0, 300);

/** Starts `count` servers and a council, which all of them share. */
export async function withServers(options, count, measure) {
  const workspace = createWorkspace();
  const servers = await Promise.all(
    Array.from({ length: count }, () =>
      startServer(options, workspace, ['--toolsets', 'council'])
    )
  );
  try {
    const request = 'What is best?';
    await servers[0].call('start_council', { agent_name: 'host', request });
    const path = join(workspace.home, '.agents-council', 'state.json');
    return await measure(servers, path);
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    workspace.remove();
  }
}

/** Sends a response. @returns its id */
export async function send(server, agent_name) {
  const { data } = await server.call('send_response', { agent_name, content });
  return data.response_id;
}

export function responsesIn(path) {
  return JSON.parse(readFileSync(path, 'utf8')).feedback;
}

/** @throws Error unless the file has `count` responses */
export function expectCount(path, count) {
  const { length } = responsesIn(path);
  if (length !== count) throw new Error(`${length} recorded, not ${count}`);
}

/** @throws Error unless the file has `count` lines */
export function expectLines(path, count) {
  const { length } = readFileSync(path, 'utf8').trimEnd().split('\n');
  if (length !== count) throw new Error(`${length} recorded, not ${count}`);
}
