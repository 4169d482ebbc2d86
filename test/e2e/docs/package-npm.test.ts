import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';
import { createApiWorkspace } from '../../kit/workspaces/api-workspace.ts';
import {
  hasNodes,
  nodeMajors,
  testWith,
  UnderNode
} from '../../kit/workspaces/installed-package.ts';
import { doesTheMainJob } from '../../kit/workspaces/main-job.ts';
import { install, packed } from '../../kit/workspaces/npm-package.ts';
import { apiEngines } from '../../provider-fake/asked.ts';

/** Where the size was last looked at; a fifth more is to be looked at again. */
const known = { bytes: 2_050_000, unpackedBytes: 7_090_000, files: 388 };

const hasTypes = existsSync(join(packageRoot, 'dist/types'));
const user = await createApiWorkspace();
const modules = join(user.path, 'node_modules');
const installed = hasNodes && hasTypes ? installedIn(user) : undefined;
const test = testWith(installed);
const node24 = new UnderNode(user, 24);
user.write('agents/poet.md', '---\ndescription: Writes poems.\n---\nRhyme.');

afterAll(() => user.close());

const engines = ['rehearsal', ...apiEngines];
const flags = ['mcp', '--engines', engines.join(',')];

/** An empty project that has installed the package, and nothing else. */
function installedIn(project: typeof user) {
  const made = packed(project, packageRoot);
  project.write('package.json', '{"private": true}');
  install(project, made.file);
  return made;
}

/** Puts packages into the project, as if it had installed them, too. */
function addPackages(...names: string[]) {
  for (const name of names) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(packageRoot, 'node_modules', name), join(modules, name));
  }
}

describe('the npm package', () => {
  test('holds what a user needs, and no source, test or map', () => {
    const { paths = [], bytes = 0, unpackedBytes = 0 } = installed ?? {};
    console.log(
      `npm package: ${bytes} bytes, ${unpackedBytes} unpacked, ${paths.length} files`
    );
    const terms = 'dist/THIRD-PARTY-LICENSES.txt';
    for (const path of ['README.md', 'LICENSE', 'dist/troupe.cjs', terms])
      expect(paths).toContain(path);
    const sources = paths.filter(
      (path) =>
        /\.(map|tsx?)$|\.test\./.test(path) && !/^dist\/types\//.test(path)
    );
    expect(sources).toEqual([]);
    expect(paths.filter((path) => /^(src|scripts|bench)\//.test(path))).toEqual(
      []
    );
    expect(bytes).toBeLessThan(1.2 * known.bytes);
    expect(unpackedBytes).toBeLessThan(1.2 * known.unpackedBytes);
    expect(paths.length).toBeLessThan(1.2 * known.files);
  });

  test('brings no other package along', () => {
    const names = readdirSync(modules).filter((name) => !name.startsWith('.'));
    expect(names).toEqual(['troupe']);
  });
});

/** As a compiler that believes nothing. */
async function checksTypes(file: string, ...more: string[]) {
  const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
  const strict = ['--noEmit', '--strict', '--target', 'es2023', ...more];
  const known = ['--types', 'node', '--module', 'nodenext'];
  await node24.says(['node', tsc, ...strict, ...known, file]);
}

for (const major of nodeMajors)
  describe(`the npm package on Node ${major}`, () => {
    const node = new UnderNode(user, major);

    test('does the main job when started by npx', async () => {
      const version = await node.says(['node', '--version']);
      expect(version).toMatch(`v${major}.`);
      const server = await node.serve(['npx', 'troupe', ...flags]);
      await doesTheMainJob(server, user.path, engines);
    });

    test('does the main job when started by Node from another folder', async () => {
      const program = join(user.path, 'node_modules/.bin/troupe');
      const elsewhere = ['--workspace', user.path];
      const server = await node.serve(
        ['node', program, ...flags, ...elsewhere],
        '/'
      );
      await doesTheMainJob(server, user.path, engines);
    });

    test('has commands for people', async () => {
      const npx = (...words: string[]) => node.says(['npx', ...words]);
      expect(await npx('troupe', 'run', 'rehearsal', 'say hello')).toContain(
        'hello'
      );
      expect(await npx('troupe', 'roles')).toMatch(/architect.*poet/s);
      const clients = ['claude', 'codex'];
      const entry = await npx('troupe', 'init', ...clients, '--dry-run');
      expect(entry).toMatch(/"node".*\[mcp_servers\.agents\]/s);
      expect(entry).toContain(join(modules, 'troupe/dist/troupe.cjs'));
      expect(await npx('-p', 'troupe', 'council', '--help')).toContain(
        'council'
      );
    });
  });

describe('the types of the npm package', () => {
  test('resolve where only it is installed', async () => {
    user.write(
      'engine.mts',
      `import type { CliEngine } from 'troupe/plugin';
       import { describeEngine } from 'troupe/testing';
       import * as troupe from 'troupe';
       import type { AddedTool, Config } from 'troupe';
       export const engine = { kind: 'cli', name: 'x', description: 'x',
         command: 'x', args: () => [] } satisfies CliEngine;
       describeEngine(engine, []);
       export const all: object = troupe;
       type Refused<T> = T extends CliEngine ? never : true;
       export const refused: Refused<{ kind: 'cli'; name: number }> = true;
       export const isText: Config['workspace'] extends string
         ? unknown extends Config['workspace'] ? false : true
         : false = true;
       export const tool: AddedTool = { name: 'x', inputSchema: {},
         call: (_input, { signal }) =>
           ({ content: [{ type: 'text', text: String(signal.aborted) }] }) };`
    );
    addPackages('@types/node', 'undici-types');
    await checksTypes('engine.mts');
  });

  test('are at one with the SDK that a project has', async () => {
    addPackages('@modelcontextprotocol/sdk', 'zod');
    user.write(
      'embedding.mts',
      `import { Client } from '@modelcontextprotocol/sdk/client/index.js';
       import { StreamableHTTPClientTransport }
         from '@modelcontextprotocol/sdk/client/streamableHttp.js';
       import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
       import { ListPromptsRequestSchema }
         from '@modelcontextprotocol/sdk/types.js';
       import { createHost, type HttpOptions, loadConfig, serveHttp }
         from 'troupe';
       const prepare = (server: Server) =>
         server.setRequestHandler(ListPromptsRequestSchema, () =>
           ({ prompts: [{ name: 'of-the-project' }] }));
       type Given = Parameters<NonNullable<HttpOptions['prepare']>>[0];
       export const known: unknown extends Given ? false : true = true;
       const token = 'of-the-project-0123456789';
       const host = await createHost(await loadConfig({}, {}));
       const served = await serveHttp(host, { address: '127.0.0.1:0', token,
         capabilities: { prompts: {} }, prepare: (one) => prepare(one) });
       const client = new Client({ name: 'project', version: '1' });
       const headers = { authorization: \`Bearer \${token}\` };
       await client.connect(new StreamableHTTPClientTransport(
         new URL(served.url), { requestInit: { headers } }));
       console.log(JSON.stringify(await client.listPrompts()));
       await client.close();
       await served.close();
       await host.close();`
    );
    await checksTypes('embedding.mts', '--skipLibCheck');
    const said = await node24.says(['node', 'embedding.mts']);
    expect(JSON.parse(said).prompts).toEqual([{ name: 'of-the-project' }]);
  });
});

// Where all tests are skipped, nothing is called after them.
if (!installed) await user.close();
