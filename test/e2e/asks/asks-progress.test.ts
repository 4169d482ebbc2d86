import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { McpClient, testEnvironment } from '../../kit/servers/mcp-client.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';
import { record } from '../../model-server/json.ts';

const bridge = join(import.meta.dirname, '../../../dist/ask-bridge.cjs');

const settings = {
  ...{ agentId: '0badcafe', engine: 'x', seconds: 60, access: 'read' },
  ...{ edits: [], reads: [], rules: { allow: [], deny: [] } }
};

test.each([
  ['permission', { tool_name: 'Bash', input: { command: 'make' } }],
  ['ask_coordinator', { question: 'Which one?' }]
])(
  'while %s waits, it gives signs of life, and no share of its time',
  async (name, input) => {
    const workspace = createTempWorkspace();
    onTestFinished(() => workspace.remove());
    const { path } = workspace;
    mkdirSync(join(path, 'agent/asks'), { recursive: true });
    workspace.write(
      'agent/asks/bridge',
      JSON.stringify({ ...settings, cwd: path, workspace: path })
    );
    const child = spawn(process.execPath, [bridge, join(path, 'agent')], {
      cwd: path,
      env: testEnvironment(workspace)
    });
    const client = new McpClient(child);
    onTestFinished(async () => {
      await client.close();
    });
    await client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'troupe-test', version: '1' }
    });
    const answer = client.request('tools/call', {
      ...{ name, arguments: input },
      _meta: { progressToken: 'wait' }
    });
    const reports = () =>
      client.notifications.filter(
        ({ method }) => method === 'notifications/progress'
      );
    await until('two reports', () => reports().length > 1 || undefined);
    for (const { params } of reports()) {
      expect(params).toMatchObject({
        progressToken: 'wait',
        message: expect.stringMatching(
          /^waiting for an answer: \d+ of at most 60 s$/
        )
      });
      // A client would show a bar.
      expect(params).not.toHaveProperty('total');
    }
    const values = reports().map(({ params }) => record(params).progress);
    expect(values.slice(0, 2)).toEqual([1, 2]);
    workspace.write(
      'agent/asks/1.answer',
      JSON.stringify({
        ...{ v: 1, decision: name === 'permission' ? 'deny' : null },
        ...{ text: 'No.', by: 'person', at: new Date().toISOString() }
      })
    );
    expect(JSON.stringify(await answer)).toContain('No.');
  }
);
