/**
 * Looks at a server from within, without a hand in what it does:
 * `node --require probe.cjs troupe.cjs mcp` appends one JSON line to the file
 * TROUPE_PROBE at each SIGUSR2. With TROUPE_PROBE_GC it collects garbage
 * before it looks.
 */
const { appendFileSync, readdirSync } = require('node:fs');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const v8 = require('node:v8');
const { runInNewContext } = require('node:vm');
const { isMainThread } = require('node:worker_threads');

const file = process.env.TROUPE_PROBE;
const collects = process.env.TROUPE_PROBE_GC === '1';
/** What the histogram itself adds to every sample, milliseconds. */
const resolutionMs = 1;

if (isMainThread && file) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  process.on('SIGUSR2', () => {
    if (collects) collect();
    appendFileSync(file, `${JSON.stringify(look(delay))}\n`);
    delay.reset();
  });
}

/** Twice: what a finalizer lets go of is found the second time. */
function collect() {
  v8.setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  gc();
  gc();
}

function look(delay) {
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

/** Undefined where there is no /proc. */
function descriptors() {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
