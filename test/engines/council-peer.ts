import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { peers } from '../../scripts/engine-versions.mjs';
import {
  McpClient,
  type ToolResult,
  testEnvironment
} from '../kit/servers/mcp-client.ts';
import { needing } from '../kit/workspaces/needs.ts';
import type { TempWorkspace } from '../kit/workspaces/temp-workspace.ts';
import { cliFolder } from './clis.ts';

const program = join(cliFolder, '..', peers.council.package, 'council');

/** `test`, for where the published council is installed: on Linux only. */
export function testWithPeer() {
  const isForUs = peers.council.package.endsWith(
    `-${process.platform}-${process.arch}`
  );
  return isForUs
    ? needing('the published council', existsSync(program))
    : (title: string, body: () => Promise<void>) =>
        test.skip(`${title} (on linux)`, body);
}

/** The published council's own server, on the council in HOME. */
export async function startPeer(workspace: TempWorkspace): Promise<McpClient> {
  const child = spawn(program, ['mcp', '--format', 'json'], {
    cwd: workspace.path,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: testEnvironment(workspace)
  });
  const peer = new McpClient(child);
  await peer.request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'peer-test', version: '1' }
  });
  peer.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return peer;
}

/** A call that must succeed. */
export async function asks(
  peer: McpClient,
  tool: string,
  args: Record<string, unknown> = {}
): Promise<ToolResult> {
  const answer = await peer.call(tool, args);
  expect(answer.isError, answer.text).toBe(false);
  return answer;
}
