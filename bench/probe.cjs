/**
 * Samples a server from within its process, without a change to the server:
 * `node --require probe.cjs troupe.cjs mcp` appends one JSON line to the file
 * TROUPE_PROBE at each SIGUSR2. With TROUPE_PROBE_GC=1, collects garbage
 * before each sample.
 */
const { appendFileSync, readdirSync } = require('node:fs');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const v8 = require('node:v8');
const { runInNewContext } = require('node:vm');
const { isMainThread } = require('node:worker_threads');

const file = process.env.TROUPE_PROBE;
const collects = process.env.TROUPE_PROBE_GC === '1';
/** Milliseconds that the histogram itself adds to each delay. */
const resolutionMs = 1;

if (isMainThread && file) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  process.on('SIGUSR2', () => {
    if (collects) collect();
    appendFileSync(file, `${JSON.stringify(sampleOf(delay))}\n`);
    delay.reset();
  });
}

/** Collects twice: the second run frees what finalizers have released. */
function collect() {
  v8.setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  gc();
  gc();
}

function sampleOf(delay) {
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const milliseconds = (nanoseconds) => nanoseconds / 1e6 - resolutionMs;
  return {
    ...{ rss, heapUsed, external, arrayBuffers },
    loop: {
      p50: milliseconds(delay.percentile(50)),
      p99: milliseconds(delay.percentile(99)),
      most: milliseconds(delay.max)
    },
    resources: countsOf(process.getActiveResourcesInfo()),
    listeners: process
      .eventNames()
      .reduce((sum, name) => sum + process.listenerCount(name), 0),
    descriptors: descriptors()
  };
}

function countsOf(names) {
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Undefined on a system without /proc. */
function descriptors() {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
