// Builds dist/: the server in one file, the command line in another, and the
// small programs that supervisors and the rehearsal engine run.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
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

async function bundle(input, file, options = {}) {
  const build = await rolldown({
    input: join(root, input),
    platform: 'node',
    external: ['cosmiconfig'],
    resolve: { alias: options.alias ?? {} },
    ...(options.treeshake ? { treeshake: options.treeshake } : {})
  });
  await build.write({
    file: join(dist, file),
    format: 'cjs',
    minify: true,
    codeSplitting: false
  });
  await build.close();
}

await Promise.all([
  bundle('src/cli/mcp-entry.ts', 'mcp.cjs', {
    alias: { ...stubs, ...lazyBuiltins },
    treeshake
  }),
  bundle('src/adapters/child-process/reaper.ts', 'reaper.cjs'),
  bundle('plugins/rehearsal-agent.ts', 'rehearsal-agent.cjs'),
  existsSync(join(root, 'src/cli/main.ts'))
    ? bundle('src/cli/main.ts', 'cli.cjs', { alias: stubs })
    : undefined
]);

const id = createHash('sha256')
  .update(readFileSync(join(dist, 'mcp.cjs')))
  .digest('hex')
  .slice(0, 16);
writeFileSync(
  join(dist, 'troupe.cjs'),
  readFileSync(script('launcher.cjs'), 'utf8').replace('BUILD_ID', id)
);
chmodSync(join(dist, 'troupe.cjs'), 0o755);
chmodSync(dist, 0o755);
rmSync(final, { recursive: true, force: true });
renameSync(dist, final);
warmUp();

if (process.argv.includes('--types'))
  execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit'
  });

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
