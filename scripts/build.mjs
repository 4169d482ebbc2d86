// Builds dist/: the server in one file, the command line in another, and the
// small programs that supervisors and the rehearsal engine run.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { lazyFiles, writeLazyFiles } from './lazy-files.mjs';
import { ownTypes } from './own-types.mjs';
import { termsFile, termsOf } from './third-party.mjs';

const root = join(import.meta.dirname, '..');
const final = join(root, 'dist');
const dist = mkdtempSync(join(root, '.dist-'));
const script = (...path) => join(root, 'scripts', ...path);

// The SDK's server imports validators that only elicitation and clients need.
// troupe uses neither, and they take a third of the start-up.
const unused = script('unused-module.mjs');
const stubs = Object.fromEntries(
  ['ajv', 'ajv-formats', 'zod/v3', 'zod-to-json-schema'].map((name) => [
    name,
    unused
  ])
);

const lazyBuiltins = {
  'node:crypto': script('lazy', 'crypto.mjs'),
  'node:child_process': script('lazy', 'child-process.mjs'),
  'node:fs/promises': script('lazy', 'fs-promises.mjs')
};

const treeshake = {
  propertyReadSideEffects: false,
  moduleSideEffects: (id) => !/modelcontextprotocol|[\\/]zod[\\/]/.test(id)
};

// Creates each of these schemas at its first use, because a start needs a third
// of them; unused ones can be removed.
const lazySchemas = {
  name: 'lazy-schemas',
  transform: (code, id) => {
    if (!id.endsWith(join('sdk', 'dist', 'esm', 'types.js'))) return null;
    const statement =
      /^((?:export )?const \w+Schema = )([\s\S]*?);(?=\n[^\s})])/gm;
    const later = code.replaceAll(
      statement,
      '$1/* @__PURE__ */ lazySchema(() => $2);'
    );
    const helper = JSON.stringify(script('lazy', 'schema.mjs'));
    return `import { lazySchema } from ${helper};\n${later}`;
  }
};

const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'build', version: '1' }
};

/** What the launcher compiles itself, passing its own import() to it. */
const launched = ['mcp', 'http', 'web', 'cli', 'statusline'].map(
  (name) => `${name}.cjs`
);
const launcherImports = {
  name: 'launcher-imports',
  renderChunk: (code) => code.replaceAll(/\bimport\(/g, 'dynamicImport(')
};

/** The ids of the modules in all bundles. */
const inside = new Set();

async function bundle(input, file, options = {}) {
  const build = await rolldown({
    input: join(root, input),
    platform: 'node',
    resolve: { alias: options.alias ?? {} },
    plugins: [
      lazyFiles,
      ...(launched.includes(file) ? [lazySchemas, launcherImports] : [])
    ],
    ...(options.treeshake ? { treeshake: options.treeshake } : {})
  });
  const { parts } = options;
  const { output } = await build.write({
    ...(parts
      ? { dir: dist, entryFileNames: file, chunkFileNames: parts }
      : { file: join(dist, file), codeSplitting: false }),
    format: options.format ?? 'cjs',
    minify: true
  });
  await build.close();
  for (const { moduleIds = [] } of output)
    for (const id of moduleIds) inside.add(id);
}

try {
  const [lazyModules] = await Promise.all([
    writeLazyFiles(dist),
    bundle('src/cli/entry/mcp-entry.ts', 'mcp.cjs', {
      alias: { ...stubs, ...lazyBuiltins },
      treeshake
    }),
    bundle('src/cli/entry/http-entry.ts', 'http.cjs', {
      alias: stubs,
      treeshake
    }),
    bundle('src/cli/entry/web-entry.ts', 'web.cjs', {
      alias: stubs,
      treeshake
    }),
    buildPage(dist),
    bundle('src/cli/entry/main.ts', 'cli.cjs', { alias: stubs }),
    bundle('src/cli/entry/statusline-entry.ts', 'statusline.cjs', {
      alias: lazyBuiltins,
      treeshake
    }),
    bundle('src/adapters/child-process/reaper.ts', 'reaper.cjs'),
    bundle('src/adapters/child-process/node-supervisor.ts', 'supervisor.cjs'),
    bundle('src/cli/entry/ask-bridge.ts', 'ask-bridge.cjs', {
      alias: lazyBuiltins,
      treeshake
    }),
    bundle('src/cli/entry/parked.ts', 'parked.cjs', {
      alias: lazyBuiltins,
      treeshake
    }),
    bundle('src/cli/entry/api-agent.ts', 'api-agent.js', { format: 'esm' }),
    bundle('plugins/rehearsal/rehearsal-agent.ts', 'rehearsal-agent.cjs'),
    bundle('plugins/rehearsal/rehearsal-worker.ts', 'rehearsal-worker.cjs', {
      alias: stubs
    }),
    bundle('test/contract/engine-contract.ts', 'testing.js', {
      format: 'esm'
    }),
    bundle('src/index.ts', 'index.js', {
      format: 'esm',
      // Split, so that a program without HTTP does not load its modules.
      parts: 'index-[name].js'
    })
  ]);
  for (const id of lazyModules) inside.add(id);
  copyFileSync(
    join(root, 'plugins/shared/gemini-cli-limits.toml'),
    join(dist, 'gemini-cli-limits.toml')
  );
  writeTerms(dist);
  writeLauncher();
  rmSync(final, { recursive: true, force: true });
  renameSync(dist, final);
} finally {
  rmSync(dist, { recursive: true, force: true });
}
warmUp();

if (process.argv.includes('--types')) {
  // Does not use npx: under `npm install -g .`, npx searches the global
  // packages and fetches another package with the same name.
  execFileSync(
    process.execPath,
    [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      ...['-p', 'tsconfig.build.json']
    ],
    { cwd: root, stdio: 'inherit' }
  );
  const { exports } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8')
  );
  const types = Object.values(exports).flatMap(({ types = [] }) => types);
  for (const file of ownTypes(types.map((path) => join(root, path))))
    inside.add(file);
  writeTerms(final);
}

/** The page of `troupe web`: one script, one style sheet, one document. */
async function buildPage(folder) {
  const build = await rolldown({
    input: join(root, 'web/main.mjs'),
    platform: 'browser'
  });
  const { output } = await build.write({
    file: join(folder, 'web', 'app.js'),
    codeSplitting: false,
    format: 'esm',
    minify: true
  });
  await build.close();
  for (const { moduleIds = [] } of output)
    for (const id of moduleIds) inside.add(id);
  for (const name of ['index.html', 'app.css'])
    copyFileSync(join(root, 'web', name), join(folder, 'web', name));
}

function writeTerms(folder) {
  writeFileSync(join(folder, termsFile), termsOf(inside).join(''));
}

/** V8 compares only source lengths, so the launcher needs a hash. */
function writeLauncher() {
  const hash = createHash('sha256');
  for (const name of launched) {
    const bundle = join(dist, name);
    const code = asFunction(readFileSync(bundle, 'utf8'));
    writeFileSync(bundle, code);
    hash.update(code);
  }
  const id = hash.digest('hex').slice(0, 16);
  const launcher = readFileSync(script('launcher.cjs'), 'utf8');
  writeFileSync(join(dist, 'troupe.cjs'), launcher.replace('BUILD_ID', id));
  copyFileSync(script('council.cjs'), join(dist, 'council.cjs'));
  chmodSync(join(dist, 'troupe.cjs'), 0o755);
  chmodSync(join(dist, 'council.cjs'), 0o755);
  chmodSync(dist, 0o755);
}

/**
 * Wraps a bundle for the launcher: a function with the parameters of a module,
 * in ASCII. A single character beyond Latin-1 would make V8 store each of half
 * a million characters in two bytes.
 */
function asFunction(code) {
  const parameters = 'exports, require, module, __filename, __dirname';
  const ascii = code.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  );
  return `(function (${parameters}, dynamicImport) {${ascii}\n})`;
}

/** Starts what is started most once, so that the first real start is fast. */
function warmUp() {
  const empty = mkdtempSync(join(tmpdir(), 'troupe-build-'));
  const requests = [
    [1, 'initialize', initialize],
    [2, 'tools/list', {}]
  ].map(([id, method, params]) =>
    JSON.stringify({ jsonrpc: '2.0', id, method, params })
  );
  // As `troupe init` writes it: the cache has to contain what checks it, too.
  writeFileSync(join(empty, '.trouperc.json'), '{ "maxAccess": "write" }');
  try {
    for (const command of ['mcp', 'list'])
      execFileSync(
        process.execPath,
        [join(final, 'troupe.cjs'), command, '--workspace', empty],
        {
          // The record of this start is removed below.
          env: { ...process.env, TROUPE_HOME: `${empty}.home` },
          input: `${requests.join('\n')}\n`,
          stdio: ['pipe', 'ignore', command === 'mcp' ? 'inherit' : 'ignore']
        }
      );
  } finally {
    for (const path of [empty, `${empty}.home`])
      rmSync(path, { recursive: true, force: true });
  }
}
