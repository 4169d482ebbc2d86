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

const root = join(import.meta.dirname, '..');
const final = join(root, 'dist');
const dist = mkdtempSync(join(root, '.dist-'));
const script = (...path) => join(root, 'scripts', ...path);

// The SDK's server imports validators it needs only for elicitation and for
// clients; we use neither, and they cost a third of the start-up.
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

// Building a schema has no side effect: those nobody uses are left out.
const protocol = readFileSync(
  join(root, 'node_modules/@modelcontextprotocol/sdk/dist/esm/types.js'),
  'utf8'
);
const schemas = [...protocol.matchAll(/^(?:export )?const (\w+) =/gm)].map(
  ([, name]) => name
);
const treeshake = {
  manualPureFunctions: ['z', ...schemas],
  moduleSideEffects: (id) => !/modelcontextprotocol|[\\/]zod[\\/]/.test(id)
};

const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'build', version: '1' }
};

// The launcher compiles this bundle itself and has to lend it its import().
const launcherImports = {
  name: 'launcher-imports',
  renderChunk: (code) => code.replaceAll(/\bimport\(/g, 'dynamicImport(')
};

// Loaded from node_modules at first use, if ever.
const lazy = [
  'cosmiconfig',
  '@anthropic-ai/sdk',
  '@google/genai',
  '@mistralai/mistralai',
  '@pydantic/genai-prices',
  'eta',
  'openai',
  'yaml'
];

async function bundle(input, file, options = {}) {
  const build = await rolldown({
    input: join(root, input),
    platform: 'node',
    external: [...lazy, ...(options.external ?? [])],
    resolve: { alias: options.alias ?? {} },
    plugins: options.plugins ?? [],
    ...(options.treeshake ? { treeshake: options.treeshake } : {})
  });
  await build.write({
    file: join(dist, file),
    format: options.format ?? 'cjs',
    minify: true,
    codeSplitting: false
  });
  await build.close();
}

try {
  await Promise.all([
    bundle('src/cli/mcp-entry.ts', 'mcp.cjs', {
      alias: { ...stubs, ...lazyBuiltins },
      plugins: [launcherImports],
      treeshake
    }),
    bundle('src/cli/main.ts', 'cli.cjs', { alias: stubs }),
    bundle('src/adapters/child-process/reaper.ts', 'reaper.cjs'),
    bundle('src/adapters/child-process/node-supervisor.ts', 'supervisor.cjs'),
    bundle('src/cli/api-agent.ts', 'api-agent.js', { format: 'esm' }),
    bundle('plugins/rehearsal-agent.ts', 'rehearsal-agent.cjs'),
    bundle('plugins/rehearsal-worker.ts', 'rehearsal-worker.cjs', {
      alias: stubs
    }),
    bundle('src/testing/engine-contract.ts', 'testing.js', {
      format: 'esm',
      external: ['zod']
    }),
    bundle('src/index.ts', 'index.js', {
      format: 'esm',
      external: ['zod', 'cross-spawn']
    })
  ]);
  copyFileSync(
    join(root, 'plugins', 'gemini-cli-limits.toml'),
    join(dist, 'gemini-cli-limits.toml')
  );
  writeLauncher();
  rmSync(final, { recursive: true, force: true });
  renameSync(dist, final);
} finally {
  rmSync(dist, { recursive: true, force: true });
}
warmUp();

if (process.argv.includes('--types'))
  execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit'
  });

/** V8 compares only lengths, so the launcher knows the bundle by its hash. */
function writeLauncher() {
  const id = createHash('sha256')
    .update(readFileSync(join(dist, 'mcp.cjs')))
    .digest('hex')
    .slice(0, 16);
  const launcher = readFileSync(script('launcher.cjs'), 'utf8');
  writeFileSync(join(dist, 'troupe.cjs'), launcher.replace('BUILD_ID', id));
  copyFileSync(script('council.cjs'), join(dist, 'council.cjs'));
  chmodSync(join(dist, 'troupe.cjs'), 0o755);
  chmodSync(join(dist, 'council.cjs'), 0o755);
  chmodSync(dist, 0o755);
}

/** One short life of the server, so that the first real start is fast too. */
function warmUp() {
  const empty = mkdtempSync(join(tmpdir(), 'troupe-build-'));
  const requests = [
    [1, 'initialize', initialize],
    [2, 'tools/list', {}]
  ].map(([id, method, params]) =>
    JSON.stringify({ jsonrpc: '2.0', id, method, params })
  );
  try {
    execFileSync(
      process.execPath,
      [join(final, 'troupe.cjs'), 'mcp', '--workspace', empty],
      {
        input: `${requests.join('\n')}\n`,
        stdio: ['pipe', 'ignore', 'inherit']
      }
    );
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}
