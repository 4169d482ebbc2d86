#!/usr/bin/env node
/**
 * Writes docs/reference/: every tool that a server of dist/ lists, and every
 * configuration key and command-line flag of src/. `--check` writes nothing
 * and fails when a page is stale or does not belong there. An argument names a
 * directory to use instead of docs/reference/.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromSources } from './from-sources.mjs';
import { commandLinePage } from './reference/command-line-page.mjs';
import { configurationPage } from './reference/configuration-page.mjs';
import { servedBy } from './reference/served.mjs';
import { toolsPage } from './reference/tools-page.mjs';

const words = process.argv.slice(2);
const isCheck = words.includes('--check');
const own = join(import.meta.dirname, '..', 'docs', 'reference');
/** Pages of the folder that no program writes. */
const byHand = ['engines.md', 'errors.md'];
const directory = words.find((word) => !word.startsWith('-')) ?? own;

if (!isCheck)
  execFileSync(process.execPath, [join(import.meta.dirname, 'build.mjs')]);
const pages = await currentPages();
if (isCheck) {
  const stale = [...new Set([...Object.keys(pages), ...namesThere()])].filter(
    (name) => readIfExists(name) !== pages[name]
  );
  if (stale.length > 0) {
    console.error(
      `docs/reference/ is not what a build of now says: ${stale.join(', ')}. Run: node scripts/reference.mjs, and commit what it writes.`
    );
    process.exitCode = 1;
  }
} else {
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(pages))
    writeFileSync(join(directory, name), text);
}

async function currentPages() {
  const sources = await fromSources(`
    import { z } from 'zod';
    import { optionalEngines } from './plugins/index.ts';
    import { createCouncil } from './src/cli/commands/serve/server-commands.ts';
    import { createProgram } from './src/cli/entry/program.ts';
    import { overridesOf } from './src/config/overrides.ts';
    import { configSchema } from './src/config/schema.ts';
    import { outputDocuments } from './src/cli/json/output-schema.ts';

    export const schema = z.toJSONSchema(configSchema(), { io: 'input' });
    export const programs = [createProgram(), createCouncil()];
    export const documents = Object.keys(outputDocuments);
    export const engines = optionalEngines.map(({ name }) => name);
    export const toolsets = schema.properties.toolsets.items.enum
      .filter((name) => name !== 'worker' && name !== 'all');

    // Every variable and every flag has a value.
    const variables = new Proxy({}, { get: () => 'squad' });
    const squad = Object.fromEntries(
      Object.keys(schema.properties.squad.properties).map((key) => [key, '1'])
    );
    const flags = { squad, forSquads: true };
    const every = new Proxy(flags, { get: (known, key) => known[key] ?? 'squad' });
    export const names = {};
    const note = (kind, overrides) => {
      for (const { path, source } of overrides) {
        const key = path.join('.');
        names[key] = { ...names[key], [kind]: source };
      }
    };
    note('variable', overridesOf({ forSquads: true }, variables, {}));
    note('flag', overridesOf(every, {}, {}));
  `);
  const { schema, names, programs, documents, toolsets, engines } = sources;
  return {
    'command-line.md': commandLinePage(programs, documents),
    'configuration.md': configurationPage(schema, names),
    'tools.md': toolsPage(await servedBy(toolsets, engines))
  };
}

function namesThere() {
  try {
    return readdirSync(directory).filter((name) => !byHand.includes(name));
  } catch {
    return [];
  }
}

function readIfExists(name) {
  try {
    return readFileSync(join(directory, name), 'utf8');
  } catch {
    return undefined;
  }
}
