import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  type ElicitRequest,
  ElicitRequestSchema,
  type ElicitResult
} from '@modelcontextprotocol/sdk/types.js';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import { testEnvironment } from './mcp-client.ts';

const dist = join(import.meta.dirname, '../../../dist');

export interface SdkClientOptions {
  flags?: string[];
  clientName?: string | undefined;
  /** Of ours; default: the one of `troupe mcp`. */
  program?: string | undefined;
  fill?: Fill | undefined;
}

/** Fills in a form; a client without it shows none. */
export type Fill = (form: ElicitRequest['params']) => Promise<ElicitResult>;

export function newClient(name: string, fill?: Fill): Client {
  const capabilities = fill ? { elicitation: {} } : {};
  const client = new Client({ name, version: '1' }, { capabilities });
  if (fill)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => fill(params));
  return client;
}

/** The SDK's own client of a server that it starts. */
export async function connectStdio(
  workspace: TempWorkspace,
  {
    flags = [],
    clientName = 'troupe-test',
    program = 'troupe.cjs',
    fill
  }: SdkClientOptions = {}
): Promise<Client> {
  const client = newClient(clientName, fill);
  const where = ['--workspace', workspace.path];
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(dist, program), 'mcp', ...where, ...flags],
      cwd: workspace.path,
      env: testEnvironment(workspace)
    })
  );
  return client;
}
