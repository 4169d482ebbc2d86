#!/usr/bin/env node
// `troupe mcp` and `council mcp` load the server's bundle and nothing else, and
// `troupe statusline` and `troupe web` their own bundles; every other command
// loads the command line. A compile cache of V8 for each bundle, next to them,
// halves the start-up. Without a usable cache, V8 compiles the bundle.
const {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync
} = require('node:fs');
const { createRequire } = require('node:module');
const { basename, dirname, join } = require('node:path');
const { Script } = require('node:vm');

/** Less than until a server changes flags: see process-setup.ts. */
const keepMs = 700;

const [command, ...rest] = process.argv.slice(2);
const help = rest.includes('--help') || rest.includes('-h');

const served = command === 'council' ? rest[0] : command;

// Over HTTP, one start serves many clients and may take longer.
const isHttp =
  command === 'mcp' && rest.some((word) => /^--http(=|$)/.test(word));

if (served === 'mcp' && !help) {
  if (isHttp) start('http.cjs', 'HTTP');
  else start('mcp.cjs', 'The server');
} else if (command === 'statusline' && !help)
  start('statusline.cjs', 'The status line');
else if (command === 'web' && !help) start('web.cjs', 'The page');
else start('cli.cjs', 'The command line');

/** A bundle for clients (mcpb) contains only the server over stdio. */
function start(bundle, name) {
  const file = join(__dirname, bundle);
  try {
    load(file);
  } catch (error) {
    const isMissing = error?.code === 'ENOENT' && !existsSync(file);
    if (!isMissing) throw error;
    console.error(
      `troupe: ${name} is not in this bundle, which only serves MCP over stdio. A clone of the repository has it: npm ci && npm install -g .`
    );
    process.exitCode = 1;
  }
}

function load(file) {
  // The build writes the hash of the bundles here: V8 itself compares lengths
  // only.
  const version = `BUILD_ID-${process.version}-${process.arch}${flags()}`;
  const cache = join(
    __dirname,
    'cache',
    `${basename(file, '.cjs')}-${version}.bin`
  );
  const known = read(cache);
  // The build writes ASCII, which costs nothing to decode.
  const script = new Script(readFileSync(file, 'latin1'), {
    filename: file,
    ...(known ? { cachedData: known } : {})
  });
  // V8 no longer needs the buffer, so its memory is released.
  known?.buffer.resize(0);
  if (!known || script.cachedDataRejected) keepSoon(cache, script);
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
 * V8 reuses only code that was compiled under the same flags, so each set of
 * flags has its own cache. The tag takes 2 ms, so it is computed only with
 * flags.
 */
function flags() {
  const set = process.execArgv.length > 0 || process.env.NODE_OPTIONS;
  return set ? `-${require('node:v8').cachedDataVersionTag()}` : '';
}

/** Reads a file into a buffer whose memory can be released, or undefined. */
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

/**
 * Keeps what has been compiled for the start. Later, a server changes flags of
 * V8, which would then refuse the cache, and V8 drops code that is not used.
 */
function keepSoon(cache, script) {
  const now = () => {
    process.off('exit', now);
    keep(cache, script);
  };
  process.on('exit', now);
  setTimeout(now, keepMs).unref();
}

/** Best effort: a read-only installation starts without a cache. */
function keep(cache, script) {
  // Servers of two containers may have the same pid.
  const name = `${process.pid}.${Math.random().toString(36).slice(2)}`;
  const temporary = `${cache}.${name}.tmp`;
  try {
    mkdirSync(dirname(cache), { recursive: true });
    // Flushed: a partial file after a power cut would crash V8 at every start.
    const whole = { flag: 'wx', flush: true };
    writeFileSync(temporary, script.createCachedData(), whole);
    renameSync(temporary, cache);
  } catch {
    try {
      unlinkSync(temporary);
    } catch {}
  }
}
