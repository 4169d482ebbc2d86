#!/usr/bin/env node
// `troupe mcp` and `council mcp` load the server's bundle and nothing else;
// every other command loads the command line. V8 keeps what it compiled beside
// them: a start then costs half. Without a usable cache it is plain
// compilation.
const { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } =
  require('node:fs');
const { createRequire } = require('node:module');
const { dirname, join } = require('node:path');
const { Script } = require('node:vm');

const [command, ...rest] = process.argv.slice(2);
const help = rest.includes('--help') || rest.includes('-h');

const served = command === 'council' ? rest[0] : command;

if (served === 'mcp' && !help) load(join(__dirname, 'mcp.cjs'));
else require('./cli.cjs');

function load(file) {
  // The build writes the bundle's hash here: V8 itself compares lengths only.
  const name = `BUILD_ID-${process.version}-${process.arch}${flags()}.bin`;
  const cache = join(__dirname, 'cache', name);
  const known = existsSync(cache) ? readFileSync(cache) : undefined;
  const script = new Script(wrap(readFileSync(file, 'utf8')), {
    filename: file,
    ...(known ? { cachedData: known } : {})
  });
  if (!known || script.cachedDataRejected)
    process.once('exit', () => keep(cache, script));
  const module = { exports: {} };
  script.runInThisContext()(
    module.exports,
    createRequire(file),
    module,
    file,
    dirname(file),
    (specifier) => import(specifier)
  );
}

/**
 * V8 takes back only what was compiled under the same flags, so those who set
 * some have a cache of their own. Asking V8 costs 2 ms: not without need.
 */
function flags() {
  const set = process.execArgv.length > 0 || process.env.NODE_OPTIONS;
  return set ? `-${require('node:v8').cachedDataVersionTag()}` : '';
}

/**
 * A script from the cache has lost how import() is resolved (seen on Node
 * 20), so the build turns import() into a call of the last parameter.
 */
function wrap(code) {
  const parameters = 'exports, require, module, __filename, __dirname';
  return `(function (${parameters}, dynamicImport) {${code}\n})`;
}

/** Best effort: an installation that cannot be written starts as before. */
function keep(cache, script) {
  try {
    mkdirSync(dirname(cache), { recursive: true });
    const temporary = `${cache}.${process.pid}.tmp`;
    writeFileSync(temporary, script.createCachedData(), { flag: 'wx' });
    renameSync(temporary, cache);
  } catch {}
}
