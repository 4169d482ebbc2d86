import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ask, type RawAnswer } from '../../../test/kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { PageFiles } from './page-files.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  for (const name of ['index.html', 'app.js', 'app.css', 'other.js'])
    workspace.write(name, `this is ${name}`);
});

afterEach(() => workspace.remove());

async function get(path: string, method = 'GET'): Promise<RawAnswer> {
  const files = new PageFiles(workspace.path);
  const server = createServer((request, response) => {
    if (!files.serve(request, path, response)) response.writeHead(418).end();
  });
  await new Promise<void>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve())
  );
  const { port } = server.address() as AddressInfo;
  try {
    return await ask({ port, token: '' }, { method, path });
  } finally {
    server.close();
  }
}

test.each([
  ['/', 200, 'index.html', 'text/html; charset=utf-8'],
  ['/agents/0badcafe', 200, 'index.html', 'text/html; charset=utf-8'],
  ['/council', 200, 'index.html', 'text/html; charset=utf-8'],
  ['/app.js', 200, 'app.js', 'text/javascript; charset=utf-8'],
  ['/app.css', 200, 'app.css', 'text/css; charset=utf-8'],
  ['/agents/0badcaf', 404, 'index.html', 'text/html; charset=utf-8'],
  ['/nowhere', 404, 'index.html', 'text/html; charset=utf-8']
])('%s is answered with %i and %s', async (path, status, name, type) => {
  const answer = await get(path);
  expect(answer).toMatchObject({ status, text: `this is ${name}` });
  expect(answer.headers).toMatchObject({
    'content-type': type,
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff'
  });
});

test.each(['/other.js', '/app.js.map', '/../app.js', '/favicon.ico'])(
  '%s is no file of the page',
  async (path) => {
    expect((await get(path)).status).toBe(418);
  }
);

test('HEAD has the length of the file, without the file', async () => {
  const { status, headers, text } = await get('/app.js', 'HEAD');
  expect([status, headers['content-length'], text]).toEqual([200, '14', '']);
});

test('a page that was not built is an error, which says how to build it', () => {
  const missing = join(workspace.path, 'missing');
  expect(() => new PageFiles(missing)).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: `The page cannot be read: ${join(missing, 'index.html')} (ENOENT).`
    })
  );
});
