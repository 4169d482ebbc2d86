import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type McpClient, startServer } from '../servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../workspaces/temp-workspace.ts';

/** What a test has an agent do. */
export interface Act {
  progress?: string;
  /** Of its answer, a piece. */
  text?: string;
  /** Puts text into a file of the workspace. */
  write?: { file: string; text: string };
  costUsd?: number;
  failure?: string;
  done?: true;
}

/** A workspace with a server, whose agents do what a test says, when it does. */
export interface ActorStage extends TempWorkspace {
  server: McpClient;
  /** Starts an agent that goes by this name here; gives its id. */
  start: (name: string, args?: Record<string, unknown>) => Promise<string>;
  act: (name: string, act: Act) => void;
  close: () => Promise<void>;
}

/** Hands on what is written to the file that its prompt names. */
const program = `
const fs = require('node:fs');
const file = fs.readFileSync(0, 'utf8').trim().split('\\n')[0] + '.acts';
let told = 0;
setInterval(() => {
  const lines = fs.readFileSync(file, 'utf8').split('\\n').slice(0, -1);
  for (const line of lines.slice(told)) {
    console.log(line);
    const { write, done } = JSON.parse(line);
    if (write) fs.writeFileSync(write.file, write.text);
    if (done) process.exit(0);
  }
  told = lines.length;
}, 25);`;

const engine = `export default {
  kind: 'cli', name: 'actor', description: 'For tests.', command: 'actor',
  args: () => [],
  read: (reply, { progress, text, costUsd, failure, done }) => ({
    ...reply,
    ...(progress ? { progress } : {}),
    ...(text ? { text: reply.text + text } : {}),
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(failure ? { failure: { code: 'provider_error', message: failure } } : {}),
    finished: done === true
  })
};`;

export async function actorStage(
  config: Record<string, unknown> = {}
): Promise<ActorStage> {
  const workspace = createTempWorkspace();
  workspace.program('actor', program);
  workspace.write('actor.mjs', engine);
  workspace.write(
    'troupe.config.json',
    JSON.stringify({ plugins: ['./actor.mjs'], ...config })
  );
  const flags = ['--on-disconnect', 'stop'];
  const server = await startServer(workspace, { flags });
  const acts = (name: string) => join(workspace.path, `${name}.acts`);
  return {
    ...workspace,
    server,
    start: async (name, args = {}) => {
      writeFileSync(acts(name), '');
      const prompt = name;
      const { data } = await server.call('spawn_actor', { prompt, ...args });
      return String(data.agent_id);
    },
    act: (name, act) => appendFileSync(acts(name), `${JSON.stringify(act)}\n`),
    close: async () => {
      await server.close();
      workspace.remove();
    }
  };
}
