// Builds dist/: the server in one file, the command line in another, and the
// small programs that supervisors and the rehearsal engine run.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

// The SDK's server imports validators it needs only for elicitation and for
// clients; we use neither, and they cost a third of the start-up.
const unused = join(root, 'scripts', 'unused-module.mjs');
const stubs = Object.fromEntries(
  ['ajv', 'ajv-formats', 'zod/v3', 'zod-to-json-schema'].map((name) => [
    name,
    unused
  ])
);

async function bundle(input, file, options = {}) {
  const build = await rolldown({
    input: join(root, input),
    platform: 'node',
    external: options.external ?? [],
    resolve: { alias: options.alias ?? {} },
    onLog: (level, log, handle) => {
      if (log.code !== 'EVAL') handle(level, log);
    }
  });
  await build.write({
    file: join(dist, file),
    format: 'cjs',
    minify: options.minify ?? true,
    codeSplitting: false
  });
  await build.close();
}

rmSync(dist, { recursive: true, force: true });
const lazy = ['cosmiconfig'];
await Promise.all([
  bundle('src/cli/mcp-entry.ts', 'mcp.cjs', { alias: stubs, external: lazy }),
  bundle('src/adapters/child-process/reaper.ts', 'reaper.cjs'),
  bundle('plugins/rehearsal-agent.ts', 'rehearsal-agent.cjs'),
  existsSync(join(root, 'src/cli/main.ts'))
    ? bundle('src/cli/main.ts', 'cli.cjs', { alias: stubs, external: lazy })
    : undefined
]);

// `troupe mcp` loads the server's file and nothing else.
writeFileSync(
  join(dist, 'troupe.cjs'),
  `#!/usr/bin/env node
const [command, ...rest] = process.argv.slice(2);
const help = rest.includes('--help') || rest.includes('-h');
require(command === 'mcp' && !help ? './mcp.cjs' : './cli.cjs');
`
);
chmodSync(join(dist, 'troupe.cjs'), 0o755);

if (process.argv.includes('--types'))
  execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit'
  });
