import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { z } from 'zod';
import type { CouncilState, Summon } from '../../../src/core/council/state.ts';
import { until } from '../judges/until.ts';
import { councilFileOf, councilIn } from '../servers/council-servers.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../servers/mcp-client.ts';
import { agentsAlive } from './step-workspace.ts';
import { createTempWorkspace, type TempWorkspace } from './temp-workspace.ts';

/** A workspace with an engine `oracle` that can be summoned. */
export interface SummonStage extends TempWorkspace {
  /** The council's file. */
  council: string;
  state: () => CouncilState;
  hasCouncil: () => boolean;
  /** Rewrites the configuration; its plugins are added. */
  configure: (settings: object) => void;
  /** A server of the workspace, with its council's and all other tools. */
  serve: (options?: ServerOptions) => Promise<McpClient>;
  kill: (server: McpClient) => Promise<void>;
  /** What the oracle answers from now on, and how it exits. */
  answers: (text: string, exitCode?: number) => void;
  /** From now on it answers when it is let go. */
  hold: () => void;
  letGo: () => void;
  /** What it was asked, by agent: its access, and its stdin. */
  asked: () => { id: string; access: string; stdin: string }[];
  /** Agents whose answers are not in their council yet. */
  marks: () => string[];
  /** Waits for just these: a mark goes right after the recording. */
  marksAre: (...agentIds: string[]) => Promise<unknown>;
  /** An agent's summons in the council's file, when it is not at work. */
  settled: (agentId: string) => Promise<Summon>;
  close: () => Promise<void>;
}

export function createSummonStage(): SummonStage {
  const workspace = createTempWorkspace();
  const council = councilFileOf(workspace);
  const servers: McpClient[] = [];
  const own = (part: string) => join(workspace.bin, `oracle.${part}`);
  const marksPath = join(workspace.record, 'summons');
  workspace.program('oracle', oracle);
  workspace.write('oracle.mjs', plugin('oracle', 'oracle'));
  workspace.write('absent.mjs', plugin('absent', 'not-on-this-machine'));
  const plugins = ['./oracle.mjs', './absent.mjs'];
  const configure = (settings: object) => {
    const text = JSON.stringify({ plugins, ...settings });
    workspace.write('troupe.config.json', text);
  };
  configure({});
  const answers = (text: string, exitCode = 0) => {
    writeFileSync(own('answer'), text);
    writeFileSync(own('exit'), String(exitCode));
  };
  answers('The oracle has spoken.');
  const state = () => councilIn(council);
  const marks = () =>
    existsSync(marksPath)
      ? readdirSync(marksPath).filter((name) => name !== '.gitignore')
      : [];
  return {
    ...workspace,
    council,
    state,
    hasCouncil: () => existsSync(council),
    configure,
    serve: async (options = {}) => {
      const server = await startServer(workspace, options);
      servers.push(server);
      return server;
    },
    kill: async (server) => {
      server.child.kill('SIGKILL');
      await server.exited;
    },
    answers,
    hold: () => appendFileSync(own('held'), ''),
    letGo: () => rmSync(own('held')),
    asked: () =>
      linesIn(own('asked')).map((line) => askedSchema.parse(JSON.parse(line))),
    marks,
    marksAre: (...ids) =>
      until('the marks of agents that were heard to go', () =>
        isDeepStrictEqual(marks(), ids)
      ),
    settled: (agentId) =>
      until(`the end of the summons of ${agentId}`, () =>
        state().summons?.find(
          ({ agent_id, status }) => agent_id === agentId && status !== 'running'
        )
      ),
    close: async () => {
      rmSync(own('held'), { force: true });
      await until(
        'the end of all agents',
        () => agentsAlive(workspace).length === 0
      );
      await Promise.all(servers.map((server) => server.close()));
      workspace.remove();
      for (const { impurities, stderr } of servers)
        expect({ impurities, stderr }).toEqual({ impurities: [], stderr: '' });
    }
  };
}

const viewSchema = z.object({
  agent_name: z.string(),
  status: z.enum(['active', 'closed']),
  responses: z.array(z.object({ author: z.string(), content: z.string() })),
  next_cursor: z.string().nullable(),
  timed_out: z.literal(true).optional(),
  participants: z.array(z.object({ agent_name: z.string() })),
  summons: z
    .array(
      z.object({
        agent_id: z.string(),
        agent_name: z.string(),
        engine: z.string(),
        status: z.enum(['running', 'failed', 'unknown', 'late']),
        session_id: z.string().optional(),
        error: z.string().optional(),
        error_code: z.string().optional()
      })
    )
    .default([])
});

/** The council as a participant sees it. */
export async function councilSeen(
  server: McpClient,
  agent_name: string,
  tool = 'get_current_session_data',
  more: Record<string, unknown> = {}
): Promise<z.output<typeof viewSchema>> {
  const { data, isError, text } = await server.call(tool, {
    agent_name,
    ...more
  });
  expect(isError, text).toBe(false);
  return viewSchema.parse(data);
}

/** Summons an engine; `failed` when it cannot start. */
export async function summoned(
  server: McpClient,
  more: Record<string, unknown> = {},
  status: 'running' | 'failed' = 'running'
): Promise<{ id: string; name: string }> {
  const args = { engine: 'oracle', ...more };
  const { data, isError, text } = await server.call('summon_agent', args);
  expect(isError, text).toBe(false);
  expect(data, text).toMatchObject({ status });
  return { id: String(data.agent_id), name: String(data.agent_name) };
}

const askedSchema = z.object({
  id: z.string(),
  access: z.string(),
  stdin: z.string()
});

function linesIn(path: string): string[] {
  return existsSync(path)
    ? readFileSync(path, 'utf8').split('\n').filter(Boolean)
    : [];
}

function plugin(name: string, command: string): string {
  return `export default {
    kind: 'cli', name: '${name}', description: 'For tests.',
    command: '${command}', args: ({ access }) => [access]
  };\n`;
}

const oracle = `
const fs = require('node:fs');
const own = (part) => __filename + '.' + part;
const asked = {
  id: process.env.TROUPE_AGENT_ID,
  access: process.argv[2],
  stdin: fs.readFileSync(0, 'utf8')
};
fs.appendFileSync(own('asked'), JSON.stringify(asked) + '\\n');
const answer = () => {
  if (fs.existsSync(own('held'))) return setTimeout(answer, 10);
  fs.writeFileSync(1, fs.readFileSync(own('answer')));
  process.exit(Number(fs.readFileSync(own('exit'), 'utf8')));
};
answer();
`;
