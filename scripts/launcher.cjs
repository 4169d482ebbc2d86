#!/usr/bin/env node
// `troupe mcp` and `council mcp` load the server's bundle and nothing else;
// every other command loads the command line. V8 keeps what it compiled beside
// them: a start then costs half. Without a usable cache it is plain
// compilation.
const {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync
} = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, join } = require('node:path');
const { Script } = require('node:vm');

const [command, ...rest] = process.argv.slice(2);
const help = rest.includes('--help') || rest.includes('-h');

const served = command === 'council' ? rest[0] : command;

// Over HTTP there is one start for many clients: it may take longer.
const isHttp =
  command === 'mcp' && rest.some((word) => /^--http(=|$)/.test(word));

if (served === 'mcp' && !help && isHttp) start('./http.cjs', 'HTTP');
else if (served === 'mcp' && !help) load(join(__dirname, 'mcp.cjs'));
else start('./cli.cjs', 'The command line');

/** A bundle for clients has no more than what they start: the server. */
function start(file, name) {
  try {
    require(file);
  } catch (error) {
    const isMissing =
      error?.code === 'MODULE_NOT_FOUND' && !existsSync(join(__dirname, file));
    if (!isMissing) throw error;
    console.error(
      `troupe: ${name} is not in this bundle, which only serves MCP over stdio. A clone of the repository has it: npm ci && npm install -g .`
    );
    process.exitCode = 1;
  }
}

function load(file) {
  // The build writes the bundle's hash here: V8 itself compares lengths only.
  const name = `BUILD_ID-${process.version}-${process.arch}${flags()}.bin`;
  const cache = join(__dirname, 'cache', name);
  const known = read(cache);
  // The build writes ASCII, which costs nothing to decode.
  const script = new Script(readFileSync(file, 'latin1'), {
    filename: file,
    ...(known ? { cachedData: known } : {})
  });
  // V8 has taken what it needs: the memory goes back at once.
  known?.buffer.resize(0);
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

/** A whole file in memory that can be given back, undefined without one. */
function read(path) {
  let descriptor;
  try {
    descriptor = openSync(path, 'r');
    const { size } = fstatSync(descriptor);
    const room = new ArrayBuffer(size, { maxByteLength: size });
    const bytes = new Uint8Array(room);
    return readSync(descriptor, bytes) === size ? bytes : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Best effort: an installation that cannot be written starts as before. */
function keep(cache, script) {
  try {
    mkdirSync(dirname(cache), { recursive: true });
    const temporary = `${cache}.${process.pid}.tmp`;
    // What a power cut leaves of it in part would crash V8 at every start.
    const whole = { flag: 'wx', flush: true };
    writeFileSync(temporary, script.createCachedData(), whole);
    renameSync(temporary, cache);
  } catch {}
}
