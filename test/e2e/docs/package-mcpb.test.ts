import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { packagers } from '../../../scripts/engine-versions.mjs';
import { packageRoot } from '../../kit/judges/documents.ts';
import {
  createApiWorkspace,
  keyNames
} from '../../kit/workspaces/api-workspace.ts';
import {
  hasNodes,
  testWith,
  UnderNode
} from '../../kit/workspaces/installed-package.ts';
import { doesTheMainJob } from '../../kit/workspaces/main-job.ts';
import { apiEngines } from '../../provider-fake/asked.ts';

/** Where the size was last looked at; a fifth more is to be looked at again. */
const knownBytes = 720_000;

const judge = join(
  packageRoot,
  '.cache/packagers/node_modules',
  packagers.mcpb.package
);
const isThere = hasNodes && existsSync(judge);
const test = testWith(isThere || undefined);
const user = await createApiWorkspace();
const node = new UnderNode(user, 22);
const folder = join(user.home, 'bundle');
let file = '';

const mcpb = (...words: string[]) =>
  node.says(['node', join(judge, 'dist/cli/cli.js'), ...words]);

beforeAll(async () => {
  if (!isThere) return;
  const script = join(packageRoot, 'scripts/mcpb.mjs');
  execFileSync(process.execPath, [script, user.home]);
  const [name = ''] = readdirSync(user.home).filter((one) =>
    one.endsWith('.mcpb')
  );
  file = join(user.home, name);
  await mcpb('unpack', file, folder);
});

afterAll(() => user.close());
// Where all tests are skipped, nothing is called after them.
if (!isThere) await user.close();

const launchSchema = z.object({
  command: z.string(),
  args: z.array(z.string()),
  env: z.record(z.string(), z.string())
});

/** What a host makes of the manifest, by the function that hosts use. */
async function launchOf(userConfig: Record<string, string>) {
  const url = pathToFileURL(join(judge, 'dist/shared/config.js'));
  const { getMcpConfigForManifest } = await import(url.href);
  return launchSchema.parse(
    await getMcpConfigForManifest({
      manifest: manifest(),
      extensionPath: folder,
      systemDirs: {},
      userConfig,
      pathSeparator: '/'
    })
  );
}

function manifest(): unknown {
  return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
}

test('the bundle has a manifest that its format allows, and is small', async () => {
  expect(await mcpb('validate', join(folder, 'manifest.json'))).toContain(
    'passes'
  );
  expect(await mcpb('info', file)).toContain('troupe-');
  const { version } = z.object({ version: z.string() }).parse(manifest());
  expect(file).toMatch(`troupe-${version}.mcpb`);
  const bytes = statSync(file).size;
  console.log(`mcpb bundle: ${bytes} bytes`);
  expect(bytes).toBeLessThan(1.2 * knownBytes);
});

test('the bundle has the terms of all whose code is in it', () => {
  const terms = readFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  // Of the server itself, and of what it loads when it is first needed.
  for (const name of ['@modelcontextprotocol/sdk', 'zod', 'cosmiconfig'])
    expect(terms).toContain(`\n== ${name} `);
  const names = terms.match(/^== \S+/gm) ?? [];
  expect(new Set(names).size).toBe(names.length);
});

test('the bundle alone does the main job, started as its manifest says', async () => {
  user.write('agents/poet.md', '---\ndescription: Writes poems.\n---\nRhyme.');
  // Keys come from the form that the host shows, not from a file.
  user.keys({});
  const keys = apiEngines.map((name) => [
    keyNames[name].toLowerCase(),
    user.fakes[name].key
  ]);
  const launch = await launchOf({
    ...Object.fromEntries(keys),
    workspace: user.path
  });
  expect(launch.command).toBe('node');
  const server = await node.serve(['node', ...launch.args], '/', launch.env);
  await doesTheMainJob(server, user.path, apiEngines);
});

test('a key that was left empty in the form is no key', async () => {
  const { args, env } = await launchOf({ workspace: user.path });
  const server = await node.serve(['node', ...args], '/', env);
  const { data } = await server.call('spawn_grok', { prompt: 'hello' });
  expect(JSON.stringify(data)).toContain('not_logged_in');
  await server.close();
});
