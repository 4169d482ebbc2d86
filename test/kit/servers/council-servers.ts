import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CouncilState,
  stateSchema
} from '../../../src/core/council/state.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import { McpClient, testEnvironment } from './mcp-client.ts';

const council = join(import.meta.dirname, '../../../dist/council.cjs');

/** The council of servers that have this workspace's HOME. */
export function councilFileOf({ home }: TempWorkspace): string {
  return join(home, '.agents-council', 'state.json');
}

export interface CouncilServerOptions {
  /** Flags of `council mcp`. */
  flags?: string[];
  env?: Record<string, string>;
  clientName?: string;
}

/** A server process with the council's tools, as a client starts it. */
export async function startCouncilServer(
  workspace: TempWorkspace,
  { flags = [], env, clientName = 'troupe-test' }: CouncilServerOptions = {}
): Promise<McpClient> {
  const server = new McpClient(
    spawn(process.execPath, [council, 'mcp', ...flags], {
      cwd: workspace.path,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: testEnvironment(workspace, env)
    })
  );
  await server.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: clientName, version: '1' }
  });
  server.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return server;
}

/** The council's file, which is there and whole. */
export function councilIn(path: string): CouncilState {
  return stateSchema().parse(JSON.parse(readFileSync(path, 'utf8')));
}

/** Lock, rights and half-written files next to the council's file. */
export function leftBeside(path: string): string[] {
  const directory = join(path, '..');
  const servers = `${path}.servers`;
  return [
    ...readdirSync(directory).filter((name) => /\.(lock|tmp)$/.test(name)),
    ...(existsSync(servers) ? readdirSync(servers) : []).filter(
      (name) => name !== '.gitignore'
    )
  ];
}
