/**
 * Creates the configuration of a workspace that sets nothing. The schema takes
 * its defaults from here, so that a start without settings needs no schema.
 */
export function defaultConfig() {
  return {
    engines: {},
    plugins: [],
    maxAccess: 'full' as const,
    maxConcurrent: 8,
    maxConcurrentApi: 16,
    maxSpawnsPerMinute: 600,
    prices: {},
    maxDepth: 2,
    onDisconnect: 'keep' as const,
    outputLimitMegabytes: 256,
    diskLimitMegabytes: 0,
    retention: { automatic: false },
    squad: {
      stateMode: 'stateless' as const,
      processTimeoutMs: 600_000,
      sequentialDelayMs: 100,
      templateVariables: []
    },
    council: { scope: 'user' as const },
    orchestrator: {
      backend: 'tmux' as const,
      engine: 'gemini-cli',
      restart: 'never' as const,
      runningTask: 'requeue' as const,
      stalledAfterSeconds: 300,
      readyTimeoutSeconds: 60,
      heartbeatSeconds: 60,
      keepFailedPane: false
    },
    asks: { allow: [], deny: [], parkAfter: 540 },
    http: {
      sessions: 32,
      idleMinutes: 30,
      bodyMegabytes: 4,
      allowedHosts: [],
      allowedOrigins: []
    },
    onEnd: { bell: false, minSeconds: 0 },
    iac: { entries: 200, megabytes: 4 },
    journal: { megabytes: 64 }
  };
}
