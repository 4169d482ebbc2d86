import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type StartedHttp, startHttp } from '../../kit/servers/http-server.ts';
import { ask, message, rawSession } from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: StartedHttp;

beforeEach(async () => {
  workspace = createTempWorkspace();
  const http = { idleMinutes: 0.01 };
  workspace.write('troupe.config.json', JSON.stringify({ http }));
  server = await startHttp(workspace);
});

afterEach(async () => {
  expect(await server.end()).toBe(0);
  workspace.remove();
});

test('a session ends whose client left amid many requests of one connection', async () => {
  const id = await rawSession(server);
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  const get = (accept: string) =>
    [
      'GET /mcp HTTP/1.1',
      'Host: localhost',
      `Authorization: Bearer ${server.token}`,
      `Accept: ${accept}`,
      `Mcp-Session-Id: ${id}`,
      '\r\n'
    ].join('\r\n');
  // The stream has no end, so that no answer behind it is ever sent.
  socket.write(get('text/event-stream') + get('text/html').repeat(20));
  await once(socket, 'data');
  socket.destroy();
  const headers = { 'mcp-session-id': id };
  await until('the session has ended', async () => {
    // Too late by itself: looking at a session uses it.
    await delay(1500);
    const { status } = await ask(server, { headers, body: message('ping') });
    return status === 404 || undefined;
  });
  expect(server.command.stderr).not.toContain('Warning');
});
