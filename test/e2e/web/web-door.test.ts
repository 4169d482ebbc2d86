import { statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  askWeb,
  type StartedWeb,
  startWeb,
  tokenFor
} from '../../kit/servers/web-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let web: StartedWeb;
let token: string;

beforeAll(async () => {
  workspace = createTempWorkspace();
  web = await startWeb(workspace);
  token = await tokenFor(web, web.code);
});

afterAll(async () => {
  expect(await web.end()).toBe(0);
  workspace.remove();
});

/** What a request for data with some other headers is answered. */
async function statusWith(
  headers: Record<string, string | undefined>,
  path = '/web/about'
): Promise<number> {
  return (await askWeb(web, path, { token, headers })).status;
}

async function linkFor(scope: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(workspace, [
    'web',
    '--link',
    scope
  ]);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return /#([\w-]{24})\n$/.exec(stdout)?.[1] ?? stdout;
}

describe('a code', () => {
  test('works once', async () => {
    await expect(tokenFor(web, web.code)).rejects.toThrow(/401.*used already/);
  });

  test.each(['', 'x'.repeat(24), `${'x'.repeat(23)}\u0000`])(
    'such as %j gives no token',
    async (code) => {
      await expect(tokenFor(web, code)).rejects.toThrow(/401/);
    }
  );

  test('is no token, and a token is no code', async () => {
    const code = await linkFor('look');
    const headers = { authorization: `Bearer ${code}` };
    expect(await statusWith(headers)).toBe(401);
    await expect(tokenFor(web, token)).rejects.toThrow(/401/);
    await tokenFor(web, code);
  });
});

describe('data', () => {
  test.each([
    ['none', undefined],
    ['a wrong one', 'Bearer 0123456789abcdef0123456789abcdef'],
    ['an empty one', 'Bearer '],
    ['no bearer', 'Basic dXNlcjpwYXNzd29yZA==']
  ])('is given to no caller with %s', async (_, authorization) => {
    for (const path of ['/web/about', '/web/events', '/web/agents/1a2b3c4d'])
      expect(await statusWith({ authorization }, path)).toBe(401);
  });

  test('is never taken from a token in the address', async () => {
    const headers = { authorization: undefined };
    const path = `/web/about?token=${token}&access_token=${token}`;
    expect(await statusWith(headers, path)).toBe(401);
  });

  test('is not cached, sniffed, framed or shown as a page', async () => {
    const { headers } = await askWeb(web, '/web/about', { token });
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer'
    });
    const navigate = { 'sec-fetch-mode': 'navigate' };
    expect(await statusWith(navigate)).toBe(403);
  });

  test('has no headers that let other sites read it', async () => {
    const { headers } = await askWeb(web, '/web/about', { token });
    const cors = Object.keys(headers).filter((name) =>
      name.startsWith('access-control')
    );
    expect(cors).toEqual([]);
  });
});

test('the page is served with a policy under which no foreign text runs', async () => {
  for (const path of ['/', '/agents/1a2b3c4d', '/spend', '/app.js']) {
    const { status, headers } = await askWeb(web, path);
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    expect(headers['x-content-type-options']).toBe('nosniff');
  }
});

test.each([
  '/web/',
  '/web/nothing',
  '/index.html',
  '/../package.json',
  '/%2e%2e/package.json',
  '//evil.example/',
  '/agents/1a2b3c4d/../../web/about',
  '/web/agents/nothing',
  '/web/agents/1A2B3C4D'
])('nothing is at %s', async (path) => {
  const { status, text } = await askWeb(web, path, { token });
  expect(status).toBe(404);
  expect(text).not.toContain('workspace');
});

test('an address that leads nowhere opens the page, which says so', async () => {
  const { status, text } = await askWeb(web, '/agents/abc', {});
  expect(status).toBe(404);
  expect(text).toContain('<title>troupe</title>');
});

test('a code that is longer than any is not read', async () => {
  const body = JSON.stringify({ code: 'x'.repeat(5000) });
  const { status, text } = await askWeb(web, '/web/login', { body });
  expect(status).toBe(413);
  expect(text).toContain('longer than 4096 bytes');
});

describe('a Host header', () => {
  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example@localhost',
    '0.0.0.0',
    'localhost.',
    '[::1'
  ])('such as %s is refused, for the page as for its data', async (host) => {
    expect(await statusWith({ host })).toBe(403);
    expect(await statusWith({ host }, '/')).toBe(403);
  });

  test.each(['localhost', '127.0.0.1', '[::1]:8377'])(
    'such as %s is allowed',
    async (host) => {
      expect(await statusWith({ host })).toBe(200);
    }
  );
});

describe('a request of another site', () => {
  test.each([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' }
  ])('with %j is refused', async (headers) => {
    expect(await statusWith(headers)).toBe(403);
    const body = JSON.stringify({ code: await linkFor('look') });
    const login = await askWeb(web, '/web/login', { headers, body });
    expect(login.status).toBe(403);
  });

  test('may be a link to the page, and to nothing else', async () => {
    const headers = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate'
    };
    expect(await statusWith(headers, '/')).toBe(200);
    expect(await statusWith(headers)).toBe(403);
  });

  test('needs JSON, which no form can send', async () => {
    const { status } = await askWeb(web, '/web/agents/1a2b3c4d/cancel', {
      token,
      headers: { 'content-type': 'text/plain' },
      body: '{}'
    });
    expect(status).toBe(415);
  });
});

describe('a link for looking', () => {
  test('reads, and may do nothing', async () => {
    const looker = await tokenFor(web, await linkFor('look'));
    const about = await askWeb(web, '/web/about', { token: looker });
    expect(JSON.parse(about.text)).toMatchObject({ scope: 'look' });
    for (const path of [
      '/web/agents',
      '/web/agents/1a2b3c4d/cancel',
      '/web/agents/1a2b3c4d/continue',
      '/web/agents/1a2b3c4d/read',
      '/web/asks/1a2b3c4d-1/answer',
      '/web/workers/1a2b3c4d/tasks',
      '/web/workers/1a2b3c4d/cancel',
      '/web/workers/1a2b3c4d/stop',
      '/web/council/respond',
      '/web/council/summon'
    ]) {
      const answer = await askWeb(web, path, { token: looker, body: '{}' });
      expect(answer.status, path).toBe(403);
      expect(answer.text).toContain('look_only');
    }
  });

  test('comes from a file that only the user can read', async () => {
    const { mode } = statSync(workspace.paths.webDoor);
    expect(mode & 0o777).toBe(0o600);
  });

  test('needs the secret of that file', async () => {
    const body = JSON.stringify({ scope: 'act' });
    for (const given of [undefined, token, 'x'.repeat(43)]) {
      const { status } = await askWeb(web, '/web/link', {
        ...(given === undefined ? {} : { token: given }),
        body
      });
      expect(status).toBe(401);
    }
  });
});

test('an agent gets no link that acts as a person', async () => {
  const { code, stdout, stderr } = await runCommand(
    workspace,
    ['web', '--link', 'act'],
    { env: { TROUPE_DEPTH: '1' } }
  );
  expect(stdout).toBe('');
  expect(stderr).toContain('An agent gets no link');
  expect(code).toBe(1);
});

test('a second troupe web prints a link to the first', async () => {
  const { code, stdout, stderr } = await runCommand(workspace, [
    'web',
    '--no-open'
  ]);
  expect(stderr).toContain('serves this workspace already');
  expect(stdout).toContain(`:${web.port}/#`);
  expect(code).toBe(0);
});

describe('troupe web', () => {
  test.each([
    [['--port', '70000'], '--port is "70000"'],
    [['--link', 'all'], '--link is "all"'],
    [['--host', '0.0.0.0'], 'no Host name of theirs is allowed'],
    [['--prot', '1'], 'Did you mean "--port"'],
    [['--link', 'look'], 'No page of']
  ])('with %j does not start, and says why', async (flags, words) => {
    const elsewhere = createTempWorkspace();
    const { code, stdout, stderr } = await runCommand(elsewhere, [
      'web',
      ...flags
    ]);
    elsewhere.remove();
    expect(stderr).toContain(words);
    expect(stdout).toBe('');
    expect(code).toBe(1);
  });

  test('ends at SIGINT, and takes its file with it', async () => {
    const elsewhere = createTempWorkspace();
    const other = await startWeb(elsewhere);
    expect(statSync(elsewhere.paths.webDoor).isFile()).toBe(true);
    expect(await other.end('SIGINT')).toBe(0);
    expect(
      statSync(elsewhere.paths.webDoor, { throwIfNoEntry: false })
    ).toBeUndefined();
    elsewhere.remove();
  });
});
